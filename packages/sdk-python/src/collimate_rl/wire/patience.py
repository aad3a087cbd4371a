# SPDX-License-Identifier: Apache-2.0
"""Whether, and after how long, a failed call is sent again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import GatewayError, TransportError
from .call import Call, Repeat

LONGEST_WAIT = 8.0
"""Seconds; back-off grows to this and no further unless the server asks for more."""

NOTHING_MADE = frozenset({"at_capacity", "draining", "session_bringup_failed", "rate_limited"})
FINAL = frozenset(
    {
        "bad_request",
        "demo_tier_limit",
        "forbidden",
        "insufficient_credits",
        "not_found",
        "quota_exceeded",
        "session_gone",
        "unauthorized",
    }
)


@dataclass(frozen=True)
class RetryPolicy:
    """`budget`: seconds after the first failure in which a new attempt may begin. `retries`: at most so many, None for no
    count. `backoff`: seconds; the wait before retry i is drawn from 0 to `backoff` times 2^i."""

    retries: int | None = None
    backoff: float = 0.15
    budget: float = 60.0


def worth_repeating(error: GatewayError, call: Call) -> bool:
    """Whether sending `call` again is safe and may help."""
    if isinstance(error, TransportError):
        return call.repeat is Repeat.SAFE or not error.sent or error.stale
    if error.code in FINAL or error.http_status is None:
        return False
    if call.repeat is Repeat.UNSEEN:
        # A 500, 502 or 504 may come after the program ran; these say that it did not start.
        return error.retryable is not False and (error.code in NOTHING_MADE or error.http_status in (429, 503))
    if error.retryable is not None:
        # A conflict may be retryable in principle, but only once somebody changed something: that is the caller's call.
        return error.retryable and error.http_status != 409
    return error.code in NOTHING_MADE or error.http_status in (429, 500, 502, 503, 504)


class Attempts:
    """The attempts of one call."""

    def __init__(
        self,
        policy: RetryPolicy,
        call: Call,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._policy, self._call, self._clock, self._draw = policy, call, clock, draw
        self._made = 0
        self._give_up_at: float | None = None
        self._over_at = None if call.total is None else clock() + call.total

    def wait_after(self, error: GatewayError) -> float | None:
        """Seconds to wait before the next attempt, or None: raise `error`."""
        if not worth_repeating(error, self._call):
            return None
        now = self._clock()
        if self._give_up_at is None:
            self._give_up_at = now + self._policy.budget
        if self._policy.retries is not None and self._made >= self._policy.retries:
            return None
        stale = isinstance(error, TransportError) and error.stale and self._made == 0
        # A connection that was closed while idle says nothing about the server's health: go on a fresh one at once.
        longest = 0.0 if stale else min(LONGEST_WAIT, self._policy.backoff * 2.0 ** min(self._made, 30))
        self._made += 1
        wait = max(self._draw(0.0, longest), error.retry_after or 0.0)
        over_at = self._give_up_at if self._over_at is None else min(self._give_up_at, self._over_at)
        return wait if now + wait <= over_at else None
