# SPDX-License-Identifier: Apache-2.0
"""Doing many things at once, with threads. Its twin in `_async` has the same names and does it with tasks.

Written by hand: this is what differs in kind between the faces.
"""

from __future__ import annotations

import contextvars
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from ..outcome import Done, Failed, Outcome

T = TypeVar("T")
Eventual = Annotated[T, "now"]
"""A T; in the other face one that has to be awaited."""

Lock = threading.Lock


def owner() -> object:
    """Who may use a connection pool made now: this process. A forked child must not write on its parent's sockets."""
    return os.getpid()


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def run_all(tasks: Sequence[Callable[[], Eventual[T]]], width: int) -> list[Outcome[T]]:
    """Run all, at most `width` at a time; outcomes in the order of `tasks`.

    The threads are this call's own and as many as `width` asks for: a shared pool of some 24 would run a group of 64 in
    waves. After Ctrl-C no further task begins and the call ends at once; the threads are daemons, so tasks that still
    wait for an answer hold nothing up.
    """
    if len(tasks) == 1 or width <= 1:
        return [_outcome(task) for task in tasks]
    outcomes: list[Outcome[T]] = [Failed(RuntimeError("never ran"))] * len(tasks)
    left = iter(range(len(tasks)))
    taking, stopped = threading.Lock(), threading.Event()

    def work() -> None:
        while not stopped.is_set():
            with taking:
                index = next(left, None)
            if index is None:
                return
            outcomes[index] = _outcome(tasks[index])

    threads: list[threading.Thread] = []
    try:
        for number in range(min(width, len(tasks))):
            # Each thread sees the caller's context variables (tracing, logging), as tasks do.
            run = contextvars.copy_context().run
            thread = threading.Thread(target=run, args=(work,), name=f"collimate-{number}", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # No more threads to be had on this host: those that started take the rest.
                if not threads:
                    raise
                break
            threads.append(thread)
        for thread in threads:
            thread.join()
    except BaseException:
        stopped.set()
        raise
    return outcomes


def _outcome(task: Callable[[], T]) -> Outcome[T]:
    try:
        return Done(task())
    except KeyboardInterrupt:
        if threading.current_thread() is threading.main_thread():
            raise
        return Failed(KeyboardInterrupt())
    except BaseException as error:
        return Failed(error)
