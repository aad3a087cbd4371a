# SPDX-License-Identifier: Apache-2.0
"""The gateway client against a real server: errors, deletes, templates, env, usage."""

import multiprocessing
from datetime import UTC, datetime

import pytest

from collimate_rl import (
    AuthenticationError,
    BadRequestError,
    CapacityError,
    CollimateClient,
    CollimateError,
    ConflictError,
    DemoTierLimit,
    GatewayClient,
    GatewayError,
    NotFoundError,
    NotSupportedError,
    PermissionDeniedError,
    QuotaExceededError,
    Ready,
    ServerError,
    Template,
    TemplateBakeFailed,
    TemplateWaitTimeout,
    TransportError,
    rollout_once,
)
from peer import Reply

IMAGE = "registry.test/py@sha256:" + "0" * 64


def error_body(code: str, retryable: bool = False) -> dict:
    return {"code": code, "message": f"about {code}", "error": "older", "error_code": "older", "retryable": retryable}


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "bad_request", BadRequestError),
        (401, "unauthorized", AuthenticationError),
        (402, "insufficient_credits", QuotaExceededError),
        (403, "forbidden", PermissionDeniedError),
        (403, "demo_tier_limit", DemoTierLimit),
        (429, "demo_tier_limit", DemoTierLimit),
        (404, "not_found", NotFoundError),
        (410, "session_gone", NotFoundError),
        (409, "template_in_use", ConflictError),
        (422, "does_not_fit", BadRequestError),
        (429, "quota_exceeded", QuotaExceededError),
        (503, "at_capacity", CapacityError),
        (500, "internal", ServerError),
    ],
)
def test_each_refusal_has_its_class_in_one_tree(peer, client, status, code, kind):
    peer.fail("GET", "/v1/health", Reply(status, error_body(code)))
    with pytest.raises(kind) as caught:
        client.health()
    error = caught.value
    assert isinstance(error, GatewayError) and isinstance(error, CollimateError)
    assert (error.status, error.code, error.error_code, str(error)) == (status, code, code, f"about {code}")
    assert len(peer.requests) == 1


def test_an_error_carries_hint_and_request_id(client):
    with pytest.raises(NotFoundError) as caught:
        client.get_sandbox("sb_unknown")
    assert (caught.value.hint, caught.value.request_id) == ("hint for not_found", "req_0123")
    assert "request req_0123" in caught.value.__notes__


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ({"error": "only this", "error_code": "word"}, "only this", "word"),
        ({}, "HTTP 418: I'm a Teapot", None),
        ("<html>proxy</html>", "HTTP 418: I'm a Teapot", None),
        ({"message": {"not": "text"}, "error": ["nor this"], "code": 7}, "HTTP 418: I'm a Teapot", None),
    ],
)
def test_error_bodies_of_other_shapes_are_read_as_well_as_they_can_be(peer, client, body, message, code):
    peer.fail("GET", "/v1/health", Reply(418, body))
    with pytest.raises(GatewayError) as caught:
        client.health()
    assert (str(caught.value), caught.value.code, caught.value.status) == (message, code, 418)


def test_a_wrong_key_is_an_authentication_error(peer):
    with GatewayClient("col_pro_wrong", peer.url) as stranger, pytest.raises(AuthenticationError):
        stranger.usage()


def test_a_2xx_answer_that_is_not_json_is_a_transport_error_in_the_end(peer):
    with GatewayClient(peer.api_key, peer.url, retries=1, backoff=0) as impatient:
        peer.fail("GET", "/v1/health", *[Reply(200, "<html>")] * 2)
        with pytest.raises(TransportError, match="not JSON"):
            impatient.health()
    assert len(peer.requests) == 2


def test_nobody_listening_is_a_transport_error_naming_the_address():
    with GatewayClient("k", "http://127.0.0.1:1", retries=0) as client, pytest.raises(TransportError) as caught:
        client.health()
    assert "http://127.0.0.1:1" in str(caught.value) and not caught.value.sent


def test_the_key_is_in_no_error(peer):
    with GatewayClient("col_pro_secretsecret", peer.url) as stranger, pytest.raises(AuthenticationError) as caught:
        stranger.health()
    assert "secretsecret" not in repr(caught.value) + "".join(caught.value.__notes__)


def test_deleting_twice_is_no_error_and_other_refusals_are_not_hidden(peer, client):
    sandbox_id = client.create_sandbox("tpl_any")["id"]
    assert client.delete_sandbox(sandbox_id) == {"deleted": True, "id": sandbox_id}
    assert client.delete_sandbox(sandbox_id) == {"deleted": False, "id": sandbox_id}
    peer.fail("DELETE", ".*", Reply(401, error_body("unauthorized")))
    with pytest.raises(AuthenticationError):
        client.delete_sandbox(sandbox_id)


def test_a_delete_has_neither_body_nor_content_type(peer, client):
    client.delete_sandbox("sb_x")
    (request,) = peer.seen("DELETE", "/v1/sandboxes/sb_x")
    assert request.body is None and "content-type" not in request.headers


def test_ids_cannot_leave_their_place_in_the_path(peer, client):
    with pytest.raises(NotFoundError):
        client.get_sandbox("../templates?x#y")
    assert peer.requests[0].path == "/v1/sandboxes/..%2Ftemplates%3Fx%23y"
    for bad in ("", ".", ".."):
        with pytest.raises(ValueError):
            client.get_sandbox(bad)


def test_every_post_has_a_key_of_its_own(peer, client, template):
    client.expect_width(template.id, 3)
    sandbox_id = client.create_sandbox(template.id)["id"]
    client.exec(sandbox_id, command="true")
    client.fork(sandbox_id)
    posts = [request.headers["idempotency-key"] for request in peer.requests if request.method == "POST"]
    assert len(posts) == 5 == len(set(posts))


def test_a_bake_is_waited_for_and_says_each_phase(client):
    handle = Template.bake(client, name="a", image=IMAGE, ready=Ready(cmd="true", env={"A": "1"}), width=8)
    phases = []
    status = handle.wait(timeout=10, on_update=lambda seen: phases.append(seen.phase))
    assert phases == ["Converting", "Live"]
    assert (status.phase, status.converged, status.declared, status.image, status.per_node) == (
        "Live",
        True,
        8,
        IMAGE,
        [],
    )


def test_the_bake_request_is_the_contracts(peer, client):
    ready = Ready(cmd="c", ports=[80], env={"A": "ready"}, network=True)
    Template.bake(client, name="a", image=IMAGE, ready=ready, width=8, cold_fraction=5, env={"A": "x", "B": "y"})
    assert peer.requests[0].body == {
        "name": "a",
        "image": IMAGE,
        "pool": {"width": 8, "cold_fraction": 5},
        "ready": {"cmd": "c", "ports": [80], "env": {"A": "ready", "B": "y"}, "network": True},
    }
    Template.bake(client, name="b", image=IMAGE, ready=Ready(), width=0)
    assert peer.requests[1].body == {"name": "b", "image": IMAGE, "pool": {"width": 0}}


def test_a_failed_bake_raises_at_once_with_the_build_error(peer, client, template):
    peer.platform.build_error = "ready command exited 3: no module named torch"
    with pytest.raises(TemplateBakeFailed, match="no module named torch") as caught:
        template.wait(timeout=30)
    assert caught.value.code == "bake_failed"
    assert caught.value.template.failed and caught.value.status.error == peer.platform.build_error


def test_a_vanished_template_is_a_failed_bake(client, template):
    client.delete_template(template.id)
    with pytest.raises(TemplateBakeFailed, match="gone"):
        template.wait(timeout=30)


def test_waiting_ends_at_its_deadline_with_a_timeout_error(peer, client, template):
    peer.platform.looks = 10**9
    with pytest.raises(TemplateWaitTimeout) as caught:
        template.wait(timeout=0.2, poll_interval=0.05)
    assert isinstance(caught.value, TimeoutError) and caught.value.template.phase == "Converting"


def test_a_handle_can_be_had_of_a_template_that_exists(client, template):
    again = Template.attach(client, template.id)
    assert (again.id, again.name) == (template.id, "mine")
    assert Template.status(client, template.id).name == "mine"


CATALOG = {"id": "img_1", "name": "python", "image": "cat@sha256:1", "visibility": "public"}


def posts(peer) -> list[tuple[str, dict]]:
    return [(request.path, request.body) for request in peer.requests if request.method == "POST"]


def test_env_of_a_catalog_image_uses_it_as_it_is(peer, client):
    peer.platform.images = [{"id": "python", "name": "other", "visibility": "private"}, CATALOG]
    with client.env("img_1", width=4) as env:
        assert env.id == "img_1"
    assert client.env("python").id == "python"  # an id goes before a name
    assert posts(peer) == []


def test_env_of_a_catalog_image_with_overrides_bakes_and_releases(peer, client):
    peer.platform.images = [CATALOG]
    with client.env("python", width=4, env={"A": "1"}, ready={"cmd": "true"}) as env:
        assert env.id in peer.platform.templates
    assert [path for path, _ in posts(peer)] == ["/v1/templates", f"/v1/templates/{env.id}/release"]
    assert posts(peer)[0][1] == {
        "name": "python",
        "image": "cat@sha256:1",
        "pool": {"width": 4},
        "ready": {"cmd": "true", "env": {"A": "1"}},
        "expected_width": 4,
    }


def test_env_finds_ones_own_template_by_name_and_releases_its_width_once(peer, client, template):
    with client.env("mine", width=4) as env:
        assert env.id == template.id
        with env.sandbox() as session:
            assert session.exec(code="print(1)").stdout == "1\n"
        env.release()
    assert posts(peer)[1] == (f"/v1/templates/{template.id}/expect", {"width": 4})
    assert len(peer.seen("POST", ".*/release")) == 1


def test_env_without_a_width_declares_none(peer, client, template):
    with client.env("mine"):
        pass
    assert len(posts(peer)) == 1


def test_env_refuses_overrides_for_ones_own_template(client, template):
    with pytest.raises(GatewayError, match=r"Template\.bake"):
        client.env("mine", env={"A": "1"})


def test_envs_secrets_go_into_sandboxes(peer, client, template):
    env = client.env("mine", secrets=["a"])
    with env.sandbox(secret_refs=["b"], label="l"):
        pass
    (create,) = peer.seen("POST", "/v1/sandboxes")
    assert create.body == {"template": template.id, "label": "l", "secret_refs": ["a", "b"]}


def test_usage_takes_instants_in_any_form(peer, client):
    assert client.usage()["totals"]["live_seconds"] == 2.5
    client.usage(from_ts=0, to_ts=datetime(2026, 1, 1, tzinfo=UTC))
    assert peer.requests[0].path == "/v1/usage"
    assert (
        peer.requests[1].path == "/v1/usage?from=1970-01-01T00%3A00%3A00%2B00%3A00&to=2026-01-01T00%3A00%3A00%2B00%3A00"
    )


def test_connect_urls_are_checked_and_clamped(peer, client):
    assert client.connect_url("sb_1", 8000, ttl_seconds=99999)["url"].startswith("ws://")
    assert client.cdp_url("sb_1", ttl_seconds=0).startswith("ws://")
    assert [body for _, body in posts(peer)] == [
        {"port": 8000, "ttl_seconds": 3600},
        {"port": 9222, "ttl_seconds": 1, "protocol": "cdp"},
    ]
    for port in (0, 65536, True):
        with pytest.raises(ValueError):
            client.connect_url("sb_1", port)
    with pytest.raises(ValueError):
        client.connect_url("sb_1", 80, protocol="udp")


def test_a_rollout_leaves_nothing(peer, client):
    result = rollout_once("tpl_any", code="import sys; print('x'); sys.exit(3)", client=client)
    assert (result.stdout, result.exit_code, result.ok) == ("x\n", 3, False)
    assert peer.platform.sandboxes.live == {}


def test_a_rollout_that_fails_leaves_nothing(peer, client):
    peer.fail("POST", ".*/exec", Reply(500, error_body("internal")))
    with pytest.raises(ServerError):
        rollout_once("tpl_any", code="1", client=client)
    assert peer.platform.sandboxes.live == {}


def test_the_daemon_client_says_what_only_a_gateway_has():
    with pytest.raises(NotSupportedError, match="gateway only"):
        CollimateClient().images()


def test_a_client_without_a_key_is_refused():
    with pytest.raises(ValueError, match="COLLIMATE_API_KEY"):
        GatewayClient()


def test_a_keys_line_end_is_forgiven_and_other_rubbish_named(peer):
    with GatewayClient(peer.api_key + "\n", peer.url) as client:
        assert client.health() == {"status": "ok"}
    for rubbish in ("col_pro_a b", "col_pro_\x00", "col_pro_é"):
        with pytest.raises(ValueError, match="characters"):
            GatewayClient(rubbish, peer.url)


def test_a_forked_process_does_not_write_on_its_parents_connections(peer, client):
    client.health()
    child = multiprocessing.get_context("fork").Process(target=client.health)
    child.start()
    child.join(30)
    client.health()
    assert child.exitcode == 0
    assert [request.connection for request in peer.requests] == [1, 2, 1]


def test_a_closed_client_says_so(peer):
    client = GatewayClient(peer.api_key, peer.url)
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.health()
