# SPDX-License-Identifier: Apache-2.0
# Generated from ../_async/grade.py by tools/generate_sync.py; edit that file instead.
"""Grading candidates in sandboxes."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from ..errors import CollimateError
from ..exec_result import ExecResult
from ..outcome import Done, values
from ..rewards.grade_result import GradeResult
from ..rewards.specs import RewardSpec
from .concurrency import run_all

if TYPE_CHECKING:
    from .session_client import SessionClient


def grade(
    client: SessionClient,
    template_id: str,
    candidate: str,
    spec: RewardSpec,
    *,
    seed: str | None = None,
    timeout_seconds: float = 30,
    session_id: str | None = None,
) -> GradeResult:
    """What `candidate` is worth by `spec`, in a sandbox of its own or in the one that `session_id` names.

    A candidate that hangs, crashes or runs out of memory is worth 0, and the result says which. A failure of the platform
    raises.
    """
    path = f"/tmp/colcand_{secrets.token_hex(8)}.py"  # noqa: S108 - inside the sandbox
    run = partial(client.exec_once, template_id) if session_id is None else partial(client.session_exec, session_id)
    reply = run(
        code=spec.build(path),
        files=[{"path": path, "content": candidate}],
        timeout_seconds=timeout_seconds,
        seed=seed,
    )
    result = ExecResult.from_response(reply)
    verdict = spec.verdict(result.stdout)
    outcome = "oom_killed" if result.oom_killed else "timed_out" if result.timed_out else verdict.outcome
    return GradeResult(
        reward=0.0 if result.timed_out or result.oom_killed else spec.parse(result.stdout),
        seed=result.seed,
        seed_ack=result.seed_ack,
        exit_code=result.exit_code,
        fork_time_ms=result.fork_time_ms,
        exec_time_ms=result.exec_time_ms,
        raw=result.raw,
        outcome=outcome,
        timed_out=result.timed_out,
        oom_killed=result.oom_killed,
        signal=result.signal or verdict.signal,
    )


def grade_batch(
    client: SessionClient,
    template_id: str,
    candidates: Sequence[str],
    spec: RewardSpec,
    *,
    seeds: Sequence[str | None] | None = None,
    timeout_seconds: float = 30,
    concurrency: int = 24,
    on_infra_error: Literal["raise", "zero", "skip"] = "raise",
) -> list[GradeResult]:
    """Grade each candidate in a sandbox of its own, `concurrency` at a time; results in order.

    A failure of the platform is no verdict on a candidate: `"raise"` raises it, `"zero"` counts 0 with `infra_error` set,
    `"skip"` leaves that candidate out.
    """
    if on_infra_error not in ("raise", "zero", "skip"):
        raise ValueError(f'on_infra_error must be "raise", "zero" or "skip", got {on_infra_error!r}')
    if seeds is not None and len(seeds) != len(candidates):
        raise ValueError(f"{len(seeds)} seeds for {len(candidates)} candidates")
    tasks = [
        partial(grade, client, template_id, candidate, spec, seed=seed, timeout_seconds=timeout_seconds)
        for candidate, seed in zip(candidates, seeds or [None] * len(candidates), strict=True)
    ]
    outcomes = run_all(tasks, concurrency)
    if on_infra_error == "raise":
        return values(outcomes)
    results: list[GradeResult] = []
    for outcome, seed in zip(outcomes, seeds or [None] * len(candidates), strict=True):
        if isinstance(outcome, Done):
            results.append(outcome.value)
        elif not isinstance(outcome.error, CollimateError):
            raise outcome.error
        elif on_infra_error == "zero":
            raw = {"error": str(outcome.error)}
            results.append(GradeResult(0.0, seed=seed, raw=raw, infra_error=True, outcome="infra_error"))
    return results
