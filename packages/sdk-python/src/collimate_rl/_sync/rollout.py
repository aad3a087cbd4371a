# SPDX-License-Identifier: Apache-2.0
# Generated from ../_async/rollout.py by tools/generate_sync.py; edit that file instead.
"""One exec in a sandbox of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..exec_request import Files
from ..exec_result import ExecResult
from .connect import connect

if TYPE_CHECKING:
    from .session_client import SessionClient


def rollout_once(
    template: str,
    *,
    code: str | None = None,
    command: str | None = None,
    commands: Sequence[Sequence[str]] | None = None,
    files: Files | None = None,
    timeout_seconds: float = 60,
    seed: str | None = None,
    egress: Mapping[str, Any] | None = None,
    client: SessionClient | None = None,
) -> ExecResult:
    """Make a sandbox of `template`, run in it, delete it."""
    run = (client or connect()).exec_once
    reply = run(
        template,
        code=code,
        command=command,
        commands=commands,
        files=files,
        timeout_seconds=timeout_seconds,
        seed=seed,
        egress=egress,
    )
    return ExecResult.from_response(reply)
