# SPDX-License-Identifier: Apache-2.0
"""Bad requests get a clear refusal in the one shape that every client reads."""

from __future__ import annotations

import pytest
from collimate_rl import GatewayClient, TemplateHandle
from conftest import Answer, Wire


def is_error(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.body["code"]) == (status, code), answer.body
    assert answer.body["message"] == answer.body["error"] != ""
    assert isinstance(answer.body["error_code"], str)
    assert answer.body["hint"]
    assert answer.body["request_id"]


@pytest.mark.parametrize("key", ["", "nonsense", "col_pro_aaaaaaaa_" + "b" * 32])
def test_unknown_key(wire: Wire, key: str) -> None:
    is_error(wire("GET", "/v1/sandboxes", key=key), 401, "unauthorized")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/sandboxes/sb_none", None),
        ("POST", "/v1/sandboxes/sb_none/exec", {"command": "true"}),
        ("POST", "/v1/sandboxes/sb_none/fork", {"count": 2}),
        ("POST", "/v1/sandboxes/sb_none/suspend", {}),
        ("GET", "/v1/templates/tpl_none", None),
        ("DELETE", "/v1/templates/tpl_none", None),
        ("POST", "/v1/sandboxes", {"template": "tpl_none"}),
        ("GET", "/v1/nowhere", None),
    ],
)
def test_unknown_id(wire: Wire, method: str, path: str, body: object) -> None:
    is_error(wire(method, path, body), 404, "not_found")


def test_foreign_id_looks_unknown(client: GatewayClient, template: TemplateHandle, wire: Wire, other_key: str) -> None:
    with client.session(template) as session:
        session.open()
        for method, path, body in [
            ("GET", f"/v1/sandboxes/{session.id}", None),
            ("POST", f"/v1/sandboxes/{session.id}/exec", {"command": "true"}),
            ("POST", f"/v1/sandboxes/{session.id}/fork", {"count": 1}),
            ("DELETE", f"/v1/sandboxes/{session.id}", None),
            ("GET", f"/v1/templates/{template.id}", None),
            ("POST", "/v1/sandboxes", {"template": template.id}),
        ]:
            is_error(wire(method, path, body, key=other_key), 404, "not_found")
        assert session.exec(command="echo lives").stdout == "lives\n"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/templates", {"name": "x"}, "image"),
        ("/v1/templates", {"name": "", "image": "a/b"}, "name"),
        ("/v1/templates", {"name": "x", "image": "a/b", "pool": {"width": "wide"}}, "pool.width"),
        ("/v1/templates", {"name": "x", "image": "a/b", "ready": {"ports": [0]}}, "ready.ports[0]"),
        ("/v1/sandboxes", {}, "template"),
    ],
)
def test_bad_body_names_the_field(wire: Wire, path: str, body: object, field: str) -> None:
    answer = wire("POST", path, body)
    is_error(answer, 400, "bad_request")
    assert field in answer.body["message"]


def test_body_that_is_not_json(wire: Wire) -> None:
    is_error(wire("POST", "/v1/sandboxes", b"{nope"), 400, "bad_request")


def test_exec_with_nothing_to_do_and_with_a_bad_seed(client: GatewayClient, template: TemplateHandle, wire: Wire) -> None:
    with client.session(template) as session:
        session.open()
        is_error(wire("POST", f"/v1/sandboxes/{session.id}/exec", {"timeout_seconds": 3}), 400, "bad_request")
        is_error(wire("POST", f"/v1/sandboxes/{session.id}/exec", {"command": "true", "seed": "abc"}), 400, "invalid_seed")
        is_error(wire("POST", f"/v1/sandboxes/{session.id}/fork", {"count": 2, "labels": ["only one"]}), 400, "bad_request")


def test_delete_with_a_json_content_type_and_no_body(client: GatewayClient, template: TemplateHandle, wire: Wire) -> None:
    made = client.create_sandbox(template.id)
    answer = wire("DELETE", f"/v1/sandboxes/{made['id']}")
    assert (answer.status, answer.body["deleted"], answer.body["id"]) == (200, True, made["id"])
    assert wire("DELETE", f"/v1/sandboxes/{made['id']}").status in (200, 404)
