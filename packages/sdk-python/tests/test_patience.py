# SPDX-License-Identifier: Apache-2.0
"""When a failed call is sent again, and after how long."""

from datetime import UTC, datetime

import pytest

from collimate_rl import CallTimeout, TransportError
from collimate_rl.errors import GatewayError, error_class
from collimate_rl.wire.answer import retry_after_seconds
from collimate_rl.wire.call import Call, Repeat
from collimate_rl.wire.patience import LONGEST_WAIT, Attempts, RetryPolicy, worth_repeating

SAFE = Call("POST", "/v1/sandboxes", {})
EXEC = Call("POST", "/v1/sandboxes/a/exec", {}, repeat=Repeat.UNSEEN)


def answer(
    status: int, code: str = "", retryable: bool | None = None, retry_after: float | None = None
) -> GatewayError:
    return error_class(status, code)("said", status, code or None, retryable=retryable, retry_after=retry_after)


@pytest.mark.parametrize(
    ("error", "safe", "exec_"),
    [
        (answer(503, "at_capacity", True), True, True),
        (answer(503, "draining", True), True, True),
        (answer(429, "rate_limited", True), True, True),
        (answer(429, "rate_limited"), True, True),
        (answer(503), True, True),
        # The program may have run.
        (answer(502, "upstream_error", True), True, False),
        (answer(504, "operation_timeout", True), True, False),
        (answer(500), True, False),
        # The server's word.
        (answer(500, "internal", False), False, False),
        (answer(503, "at_capacity", False), False, False),
        (answer(500, "fork_failed", True), True, False),
        # Final whatever the status.
        (answer(429, "quota_exceeded", True), False, False),
        (answer(403, "demo_tier_limit"), False, False),
        (answer(409, "template_in_use", True), False, False),
        (answer(404, "not_found"), False, False),
        (answer(400, "bad_request"), False, False),
        # No answer.
        (TransportError("reset"), True, False),
        (TransportError("refused", sent=False), True, True),
        (TransportError("closed while idle", stale=True), True, True),
        (CallTimeout("silence"), True, False),
    ],
)
def test_what_is_worth_repeating(error, safe, exec_):
    assert worth_repeating(error, SAFE) is safe
    assert worth_repeating(error, EXEC) is exec_


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def waits(policy: RetryPolicy, error: GatewayError, count: int, clock: Clock | None = None) -> list[float | None]:
    clock = clock or Clock()
    attempts = Attempts(policy, SAFE, clock=clock, draw=lambda _low, high: high)
    found = []
    for _ in range(count):
        found.append(attempts.wait_after(error))
        clock.now += found[-1] or 0
    return found


def test_waits_double_up_to_a_bound():
    assert waits(RetryPolicy(None, 0.5, 1000), answer(503), 7) == [0.5, 1, 2, 4, 8, LONGEST_WAIT, LONGEST_WAIT]


def test_the_server_may_ask_for_a_longer_wait():
    assert waits(RetryPolicy(None, 0.5, 1000), answer(503, retry_after=20), 2) == [20, 20]


def test_no_attempt_begins_after_the_budget():
    assert waits(RetryPolicy(None, 1, 4), answer(503), 4) == [1, 2, None, None]
    assert waits(RetryPolicy(None, 1, 4), answer(503, retry_after=5), 1) == [None]


def test_the_budget_begins_with_the_first_failure_not_with_the_call():
    clock = Clock()
    attempts = Attempts(RetryPolicy(None, 1, 4), SAFE, clock=clock, draw=lambda _low, high: high)
    clock.now += 110  # the server held the request this long before it gave up
    assert attempts.wait_after(answer(503, "at_capacity", True)) == 1


def test_a_count_of_retries_is_kept():
    assert waits(RetryPolicy(2, 0.1, 1000), answer(503), 3) == [0.1, 0.2, None]
    assert waits(RetryPolicy(0), answer(503), 1) == [None]


def test_a_stale_connection_is_replaced_at_once_but_only_once():
    assert waits(RetryPolicy(None, 0.5, 100), TransportError("closed", stale=True), 2) == [0, 1]


def test_retry_after_is_seconds_or_a_date():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert retry_after_seconds("7") == 7
    assert retry_after_seconds("Thu, 01 Jan 2026 00:00:30 GMT", now) == 30
    assert retry_after_seconds("Wed, 31 Dec 2025 00:00:00 GMT", now) == 0
    for unreadable in (None, "", "soon", "-3", "1e9999"):
        assert retry_after_seconds(unreadable, now) is None
