# SPDX-License-Identifier: Apache-2.0
# Generated from ../_async/fork_group.py by tools/generate_sync.py; edit that file instead.
"""N children of one sandbox, used together."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeVar

from ..errors import CollimateError, GatewayError
from ..exec_request import Files
from ..exec_result import ExecResult
from ..json_types import JsonObject, as_rows, number, text
from ..outcome import Done, Outcome, first_error, values
from ..seeds import group_seeds
from .concurrency import Eventual, run_all
from .sandbox import Sandbox

if TYPE_CHECKING:
    from .session import Session

T = TypeVar("T")
OnInfraError = Literal["raise", "none"]
log = logging.getLogger("collimate_rl")


class ForkGroup:
    """The children of one fork, in order. A with-block deletes them at its end; the parent is left alone.

    `seeds[i]` is the seed of `children[i]`. `raw` is the server's answer to the fork (the first, if it was split).
    """

    def __init__(
        self,
        parent: Session,
        children: Sequence[Sandbox],
        seeds: Sequence[str | None],
        replies: Sequence[JsonObject] = (),
    ) -> None:
        self.parent = parent
        self.children = list(children)
        self.seeds = list(seeds)
        self.raw: JsonObject = replies[0] if replies else {}
        self.fork_time_ms = max((number(reply, "fork_time_ms", -1) for reply in replies), default=-1.0)
        self.pause_ms = max((number(reply, "pause_ms", -1) for reply in replies), default=-1.0)

    def __len__(self) -> int:
        return len(self.children)

    def __iter__(self) -> Iterator[Sandbox]:
        return iter(self.children)

    def __getitem__(self, index: int) -> Sandbox:
        return self.children[index]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self, *, strict: bool = False) -> None:
        """Delete all children, all at once. What goes wrong is logged, or the first error raised when `strict`."""
        outcomes = run_all([partial(child.close, strict=True) for child in self.children], len(self.children))
        error = first_error(outcomes)
        if error is None:
            return
        if strict or not isinstance(error, CollimateError):
            raise error
        log.warning("not all children of %s could be deleted; some may live on: %s", self.parent.id, error)

    def map(
        self,
        fn: Callable[[int, Sandbox], Eventual[T]],
        *,
        concurrency: int | None = None,
        on_infra_error: OnInfraError = "raise",
    ) -> list[T | None]:
        """`fn(index, child)` for every child, all at once or `concurrency` at a time; results in order.

        `on_infra_error`: when some failed, `"raise"` raises the first failure after all have ended, `"none"` gives None in
        place of a `CollimateError` (what `fn` itself raises, it still raises).
        """
        if on_infra_error not in ("raise", "none"):
            raise ValueError(f'on_infra_error must be "raise" or "none", got {on_infra_error!r}')
        tasks = [partial(fn, index, child) for index, child in enumerate(self.children)]
        outcomes = run_all(tasks, concurrency or len(tasks))
        if on_infra_error == "none":
            return values([infra_as_none(outcome) for outcome in outcomes])
        return list(values(outcomes))

    def exec_each(
        self,
        code: str | None = None,
        *,
        command: str | None = None,
        commands: Sequence[Sequence[str]] | None = None,
        files: Files | None = None,
        timeout_seconds: float | None = None,
        concurrency: int | None = None,
        on_infra_error: OnInfraError = "raise",
    ) -> list[ExecResult | None]:
        """The same exec in every child."""

        def one(_index: int, child: Sandbox) -> ExecResult:
            return child.exec(code, command=command, commands=commands, files=files, timeout_seconds=timeout_seconds)

        return self.map(one, concurrency=concurrency, on_infra_error=on_infra_error)


def infra_as_none(outcome: Outcome[T]) -> Outcome[T | None]:
    """A failure of the platform as None; anything else as it is."""
    if isinstance(outcome, Done):
        return Done(outcome.value)
    return Done(None) if isinstance(outcome.error, CollimateError) else outcome


class Made:
    """The sandboxes that a fork has made so far. After `abandon` nobody is left to use them."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._abandoned = False
        self._lock = threading.Lock()

    def add(self, ids: Sequence[str]) -> bool:
        """Note them; False when the fork was abandoned meanwhile and they have to be deleted."""
        with self._lock:
            self._ids += ids
            return not self._abandoned

    def abandon(self) -> list[str]:
        with self._lock:
            self._abandoned = True
            return list(self._ids)


def forked(
    session: Session,
    n: int,
    *,
    seed_mode: str,
    base_seed: str | None,
    labels: Sequence[str] | None,
    default_timeout: float,
    max_per_call: int | None,
    require_seed: bool,
) -> ForkGroup:
    """A group of `n` children of an open session."""
    if n < 1:
        raise ValueError(f"a fork group needs at least 1 child, got {n}")
    if labels is not None and len(labels) != n:
        raise ValueError(f"{len(labels)} labels for {n} children")
    if max_per_call is not None and max_per_call < 1:
        raise ValueError(f"max_per_call must be at least 1, got {max_per_call}")
    seeds = group_seeds(n, seed_mode, base_seed)
    size = max_per_call or n
    spans = [(start, min(start + size, n)) for start in range(0, n, size)]
    made = Made()
    try:
        tasks = [partial(fork_span, session, made, start, end, labels) for start, end in spans]
        replies = values(run_all(tasks, len(tasks)))
    except BaseException:
        delete_all(session, made.abandon())
        raise
    rows = [row for reply in replies for row in as_rows(reply.get("children"))]
    children = [
        Sandbox.adopt(
            session.client,
            text(row, "id"),
            template=session.template,
            default_timeout=default_timeout,
            default_seed=seed,
            require_seed=require_seed,
        ).noting(row)
        for row, seed in zip(rows, seeds, strict=True)
    ]
    return ForkGroup(session, children, seeds, replies)


def fork_span(session: Session, made: Made, start: int, end: int, labels: Sequence[str] | None) -> JsonObject:
    """One request, for the children from `start` to before `end`."""
    sandbox_id = session.id or ""
    reply = session.client.fork(sandbox_id, count=end - start, labels=None if labels is None else labels[start:end])
    ids = [text(row, "id") for row in as_rows(reply.get("children"))]
    wanted = made.add(ids)
    if not wanted:
        delete_all(session, ids)
    if len(ids) != end - start or not all(ids):
        raise GatewayError(f"asked for {end - start} children, the server made {len(ids)}", code="fork_short")
    return reply


def delete_all(session: Session, ids: Sequence[str]) -> None:
    """Delete sandboxes of a fork that failed; what goes wrong is logged."""
    tasks = [partial(session.client.delete_quietly, sandbox_id) for sandbox_id in ids if sandbox_id]
    run_all(tasks, max(1, len(tasks)))
