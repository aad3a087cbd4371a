# SPDX-License-Identifier: Apache-2.0
"""Faults between client and server: no double effect, nothing lost that is safe to repeat, the right error."""

import time

import pytest

from collimate_rl import CallTimeout, CapacityError, GatewayClient, TransportError
from peer import Drop, Reply, Stall

COUNT = "n = globals().get('n', 0) + 1; print(n)"


def capacity(**headers: str) -> Reply:
    return Reply(503, {"code": "at_capacity", "message": "full", "retryable": True}, headers)


def test_a_create_that_meets_no_room_is_repeated_under_one_key(peer, client):
    peer.fail("POST", "/v1/sandboxes", capacity(), capacity())
    client.create_sandbox("tpl_any")
    tries = peer.seen("POST", "/v1/sandboxes")
    assert len(tries) == 3 and len({request.headers["idempotency-key"] for request in tries}) == 1
    assert len(peer.platform.sandboxes.live) == 1


def test_retry_after_is_kept(peer, client):
    peer.fail("GET", "/v1/health", capacity(**{"Retry-After": "1"}))
    started = time.monotonic()
    client.health()
    assert time.monotonic() - started >= 1


def test_patience_ends_with_the_servers_error(peer):
    peer.fail("POST", "/v1/sandboxes", *[capacity(**{"Retry-After": "1"})] * 3)
    with GatewayClient(peer.api_key, peer.url, retry_budget=0.5) as client, pytest.raises(CapacityError, match="full"):
        client.create_sandbox("tpl_any")
    assert len(peer.requests) == 1


@pytest.mark.parametrize("sent", [0, 1, 12, 40, 60])
def test_an_answer_lost_at_any_byte_makes_one_sandbox(peer, client, sent):
    peer.fail("POST", "/v1/sandboxes", Drop("after", sent))
    sandbox_id = client.create_sandbox("tpl_any")["id"]
    assert list(peer.platform.sandboxes.live) == [sandbox_id]
    assert len(peer.seen("POST", "/v1/sandboxes")) == 2


@pytest.mark.parametrize("sent", [0, 60])
def test_a_fork_whose_answer_is_lost_forks_once(peer, session, sent):
    peer.fail("POST", ".*/fork", Drop("after", sent))
    with session.fork_group(3) as group:
        assert len(group) == 3
        assert len(peer.platform.sandboxes.live) == 4
    assert list(peer.platform.sandboxes.live) == [session.id]


def test_an_exec_on_a_connection_closed_while_idle_runs_once(peer, session):
    session.exec(code=COUNT)
    peer.fail("POST", ".*/exec", Drop("before"))
    assert session.exec(code=COUNT).stdout == "2\n"
    tries = peer.seen("POST", ".*/exec")
    assert len(tries) == 3
    assert tries[1].headers["idempotency-key"] == tries[2].headers["idempotency-key"]
    assert tries[1].connection != tries[2].connection


def test_an_exec_that_may_have_run_is_not_repeated(peer, session):
    session.exec(code=COUNT)
    peer.fail("POST", ".*/exec", Drop("after", 60))
    with pytest.raises(TransportError) as caught:
        session.exec(code=COUNT)
    assert caught.value.sent
    assert session.exec(code=COUNT).stdout == "3\n"


def test_an_exec_lost_on_a_fresh_connection_is_not_repeated(peer, session):
    with GatewayClient(peer.api_key, peer.url) as fresh:
        peer.fail("POST", ".*/exec", Drop("before"))
        with pytest.raises(TransportError):
            fresh.exec(session.id, code=COUNT)
    assert session.exec(code=COUNT).stdout == "1\n"


def test_an_exec_that_had_no_room_is_repeated(peer, session):
    peer.fail("POST", ".*/exec", capacity())
    assert session.exec(code=COUNT).stdout == "1\n"


def test_a_gateway_error_during_an_exec_is_not_repeated(peer, session):
    peer.fail("POST", ".*/exec", Reply(502, {"code": "upstream_error", "message": "lost it", "retryable": True}))
    with pytest.raises(Exception, match="lost it"):
        session.exec(code=COUNT)
    assert len(peer.seen("POST", ".*/exec")) == 1


def test_silence_ends_with_a_time_out_that_is_a_timeout_error(peer):
    peer.fail("GET", "/v1/health", Stall())
    with GatewayClient(peer.api_key, peer.url, timeout=0.2, retries=0) as client, pytest.raises(CallTimeout) as caught:
        client.health()
    assert isinstance(caught.value, TimeoutError)


def test_a_read_is_repeated_after_silence(peer):
    peer.fail("GET", "/v1/health", Stall())
    with GatewayClient(peer.api_key, peer.url, timeout=0.2) as client:
        assert client.health() == {"status": "ok"}


def test_connections_are_kept_and_shared(peer, client):
    for _ in range(5):
        client.health()
    assert {request.connection for request in peer.requests} == {1}
