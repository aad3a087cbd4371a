# SPDX-License-Identifier: Apache-2.0
"""How one of many concurrent tasks ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Done(Generic[T]):
    value: T


@dataclass(frozen=True)
class Failed:
    error: BaseException


Outcome = Done[T] | Failed


def first_error(outcomes: Iterable[Outcome[T]]) -> BaseException | None:
    """The first failure in order, if any."""
    return next((outcome.error for outcome in outcomes if isinstance(outcome, Failed)), None)


def values(outcomes: Iterable[Outcome[T]]) -> list[T]:
    """All values, or the first failure raised."""
    collected: list[T] = []
    for outcome in outcomes:
        if isinstance(outcome, Failed):
            raise outcome.error
        collected.append(outcome.value)
    return collected
