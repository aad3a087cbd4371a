# SPDX-License-Identifier: Apache-2.0
"""Groups of children: inheritance, full width, seeds, teardown, short and split forks."""

import threading

import pytest

from collimate_rl import (
    BadRequestError,
    CollimateError,
    GatewayError,
    Sandbox,
    SandboxClosed,
    SeedNotApplied,
    ServerError,
    Session,
)
from collimate_rl.seeds import step_seed
from peer import Drop, Reply

BASE = "ab" * 32
BROKEN = Reply(500, {"code": "internal", "message": "broken", "retryable": False})


def test_children_inherit_and_do_not_see_each_other(session: Session):
    session.exec(code="x = 40")
    with session.fork_group(4) as group:
        results = group.map(lambda index, child: child.exec(f"x += {index}; print(x)"))
        assert [result.stdout for result in results] == ["40\n", "41\n", "42\n", "43\n"]
    assert session.exec(code="print(x)").stdout == "40\n"


def test_64_children_are_one_request_and_leave_nothing(peer, session):
    with session.fork_group(64) as group:
        assert len(peer.platform.sandboxes.live) == 65
        assert [child.session_id for child in group] == [child["id"] for child in group.raw["children"]]
    assert list(peer.platform.sandboxes.live) == [session.id]
    assert len(peer.seen("POST", ".*/fork")) == 1 and peer.seen("GET", ".*") == []


def test_map_runs_all_children_at_once(session):
    together = threading.Barrier(40, timeout=30)
    with session.fork_group(40) as group:
        group.map(lambda _index, _child: together.wait())


def test_map_keeps_to_a_given_concurrency(session):
    lock, now, most = threading.Lock(), 0, 0

    def count(_index, child):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        child.exec("pass")
        with lock:
            now -= 1

    with session.fork_group(9) as group:
        group.map(count, concurrency=3)
    assert 1 <= most <= 3


def test_the_first_error_in_order_is_raised_after_all_have_ended(session):
    ended = []

    def run(index, child):
        child.exec("pass")
        ended.append(index)
        if index in (1, 3):
            raise LookupError(index)

    with session.fork_group(5) as group, pytest.raises(LookupError, match="1"):
        group.map(run)
    assert sorted(ended) == [0, 1, 2, 3, 4]


def test_infra_errors_can_be_none_but_the_callers_own_errors_cannot(peer, session):
    with session.fork_group(3) as group:
        broken = group[1].session_id
        peer.fail("POST", f".*/{broken}/exec", BROKEN, BROKEN)
        results = group.exec_each("print(1)", on_infra_error="none")
        assert [result and result.stdout for result in results] == ["1\n", None, "1\n"]
        with pytest.raises(ServerError):
            group.exec_each("print(1)")
        with pytest.raises(ZeroDivisionError):
            group.map(lambda index, _child: 1 // (index - 1), on_infra_error="none")


def test_an_exception_in_the_block_leaves_no_child(peer, session):
    with pytest.raises(KeyError), session.fork_group(3):
        raise KeyError
    assert list(peer.platform.sandboxes.live) == [session.id]


def test_common_random_numbers_by_default_and_a_new_seed_per_step(peer, session):
    with session.fork_group(3) as group:
        assert len(set(group.seeds)) == 1
        for _ in range(2):
            group.exec_each("pass")
    seeds = [request.body["seed"] for request in peer.seen("POST", ".*/exec")]
    assert seeds == [step_seed(group.seeds[0], 0)] * 3 + [step_seed(group.seeds[0], 1)] * 3


def test_vanilla_children_have_no_seed(peer, session):
    with session.fork_group(2, seed_mode="vanilla") as group:
        group.exec_each("pass")
    assert all("seed" not in request.body for request in peer.seen("POST", ".*/exec"))


def test_a_required_seed_that_was_not_applied_raises(session):
    with session.fork_group(2, base_seed=BASE, require_seed=True) as group:
        assert group[0].exec("pass").seed_ack == "verified"
    with session.fork_group(1, seed_mode="vanilla", require_seed=True) as group, pytest.raises(SeedNotApplied):
        group[0].exec("pass")
    with pytest.raises(SeedNotApplied):
        session.exec(code="pass", require_seed=True)


@pytest.mark.parametrize(("cap", "calls"), [(None, [7]), (3, [3, 3, 1]), (7, [7]), (100, [7])])
def test_a_fork_is_split_only_on_request(peer, session, cap, calls):
    labels = [f"l{index}" for index in range(7)]
    with session.fork_group(7, labels=labels, max_per_call=cap) as group:
        assert len(group) == 7
    bodies = sorted((request.body for request in peer.seen("POST", ".*/fork")), key=lambda body: body["labels"])
    assert sorted((body["count"] for body in bodies), reverse=True) == calls
    assert [label for body in bodies for label in body["labels"]] == labels


def test_a_split_fork_with_one_refusal_leaves_no_child(peer, session):
    peer.fail("POST", ".*/fork", Reply(400, {"code": "bad_request", "message": "no"}))
    with pytest.raises(BadRequestError):
        session.fork_group(6, max_per_call=2)
    assert list(peer.platform.sandboxes.live) == [session.id]


def test_a_server_that_makes_too_few_children_is_caught_and_they_are_deleted(peer, session):
    peer.platform.lost_children = 1
    with pytest.raises(GatewayError) as caught:
        session.fork_group(4)
    assert caught.value.code == "fork_short"
    assert len(peer.platform.sandboxes.deleted) == 3


def test_an_interrupted_fork_deletes_what_the_server_made(peer, session, monkeypatch):
    """Ctrl-C while the answer is on its way: the children exist, and nobody has heard of them."""
    http = session.client._http
    ordinary = http.send

    def interrupted(call):
        answer = ordinary(call)
        if call.path.endswith("/fork"):
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(http, "send", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.fork_group(3)
    assert list(peer.platform.sandboxes.live) == [session.id]
    assert len(peer.platform.sandboxes.deleted) == 3


@pytest.mark.parametrize(
    "arguments", [dict(n=0), dict(n=2, labels=["one"]), dict(n=2, max_per_call=0), dict(n=1, seed_mode="x")]
)
def test_bad_arguments_are_refused_before_anything_is_made(peer, session, arguments):
    with pytest.raises(ValueError):
        session.fork_group(**arguments)
    assert peer.seen("POST", ".*/fork") == []


def test_children_that_cannot_be_deleted_are_logged_or_raised(peer, session, caplog):
    with session.fork_group(2) as group:
        peer.fail("DELETE", ".*", BROKEN)
    assert "may live on" in caplog.text
    group = session.fork_group(2)
    peer.fail("DELETE", ".*", BROKEN)
    with pytest.raises(ServerError):
        group.close(strict=True)


def test_the_parents_pause_and_the_fork_time_are_the_servers(session):
    with session.fork_group(1) as group:
        assert (group.pause_ms, group.fork_time_ms) == (3.25, 7.5)
        assert group[0].endpoints == {"8000": "inside"} and group[0].warm_hit


def test_what_is_closed_stays_closed(peer, client, session):
    group = session.fork_group(1)
    child = group[0]
    group.close()
    group.close()
    with pytest.raises(SandboxClosed):
        child.exec("pass")
    session.close()
    for use in (lambda: session.exec(code="pass"), lambda: session.fork_group(2), session.suspend):
        with pytest.raises(SandboxClosed):
            use()
    assert len(peer.seen("POST", "/v1/sandboxes")) == 1
    session.open()
    assert session.exec(code="print(1)").ok


def test_a_sandbox_starts_when_used_and_resets_to_the_template(peer, client):
    with Sandbox("tpl_any", client=client) as sandbox:
        sandbox.exec("x = 1")
        first = sandbox.session_id
        sandbox.reset()
        assert sandbox.session_id != first
        assert not sandbox.exec("print(x)").ok
    assert peer.platform.sandboxes.live == {}
    lazy = Sandbox("tpl_any", client=client)
    assert lazy.exec("print(2)").stdout == "2\n"
    lazy.close()


def test_a_sandbox_can_be_kept_to_look_into(peer, client):
    with pytest.raises(KeyError), Sandbox("tpl_any", client=client, keep_on_error=True):
        raise KeyError
    (kept,) = peer.platform.sandboxes.live
    attached = Sandbox.attach(client, kept)
    assert (attached.session_id, attached.template) == (kept, "tpl_any")
    attached.close(strict=True)
    with pytest.raises(CollimateError):
        Sandbox.attach(client, kept)


def test_parallel_first_uses_make_one_sandbox(peer, client):
    sandbox = Sandbox("tpl_any", client=client)
    threads = [threading.Thread(target=sandbox.exec, args=("pass",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(peer.seen("POST", "/v1/sandboxes")) == 1
    sandbox.close()


def test_results_tell_a_time_out_from_a_failure(session):
    slow = session.exec(code="import signal; signal.pause()", timeout_seconds=0.3)
    assert (slow.ok, slow.timed_out, slow.exit_code, slow.signal) == (False, True, -1, 9)


@pytest.mark.parametrize(
    "bad", [dict(), dict(code="1", timeout_seconds=0), dict(code="1", seed="short"), dict(commands=[])]
)
def test_an_exec_that_cannot_be_right_is_refused_here(peer, session, bad):
    with pytest.raises(ValueError):
        session.exec(**bad)
    assert peer.seen("POST", ".*/exec") == []


def test_an_empty_program_is_a_program(session):
    assert session.exec(code="").ok


def test_a_dropped_delete_is_repeated(peer, session):
    group = session.fork_group(2)
    peer.fail("DELETE", ".*", Drop("after"), Drop("before"))
    group.close(strict=True)
    assert list(peer.platform.sandboxes.live) == [session.id]
