# SPDX-License-Identifier: Apache-2.0
"""Doing many things at once, with tasks. Its twin in `_sync` has the same names and does it with threads."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ..outcome import Done, Failed, Outcome

T = TypeVar("T")
Eventual = Awaitable[T]
"""A T that has to be awaited; in the other face just a T."""

AsyncLock = asyncio.Lock


def owner() -> object:
    """Who may use a connection pool made now: this process and this event loop."""
    return os.getpid(), id(asyncio.get_running_loop())


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def run_all(tasks: Sequence[Callable[[], Eventual[T]]], width: int) -> list[Outcome[T]]:
    """Run all, at most `width` at a time; outcomes in the order of `tasks`. Cancelling it cancels those that run."""
    gate = asyncio.Semaphore(max(1, width))

    async def one(task: Callable[[], Eventual[T]]) -> Outcome[T]:
        async with gate:
            try:
                return Done(await task())
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                return Failed(error)

    return list(await asyncio.gather(*(one(task) for task in tasks)))
