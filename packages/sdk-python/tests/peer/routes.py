# SPDX-License-Identifier: Apache-2.0
"""What the peer does for each route of the wire contract, and its state."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from .sandboxes import Sandboxes

Body = dict[str, Any] | None


class Refused(Exception):
    """An error answer in the contract's shape."""

    def __init__(self, status: int, code: str, message: str, *, retryable: bool = False, path: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.retryable = status, code, message, retryable
        self.path = path

    def body(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "message": self.message,
            "error": self.message,
            "error_code": self.code,
            "hint": f"hint for {self.code}",
            "retryable": self.retryable,
            "request_id": "req_0123",
            **({"path": self.path} if self.path else {}),
        }


class Platform:
    """Templates and sandboxes of one peer. A template is Live at its `looks`-th look."""

    def __init__(self, folder: Path) -> None:
        self.sandboxes = Sandboxes(folder)
        self.templates: dict[str, dict[str, Any]] = {}
        self.images: list[dict[str, Any]] = []
        self.build_error = ""
        self.looks = 2
        self.fork_cap = 1024
        self.lost_children = 0

    def sandbox(self, sandbox_id: str) -> str:
        if sandbox_id not in self.sandboxes.live:
            raise Refused(404, "not_found", f"no sandbox {sandbox_id}")
        return sandbox_id


def health(_platform: Platform, _body: Body) -> Any:
    return {"status": "ok"}


def images(platform: Platform, _body: Body) -> Any:
    return {"images": platform.images}


def create_template(platform: Platform, body: Body) -> Any:
    assert body is not None
    known = next((row for row in platform.templates.values() if row["request"] == body), None)
    if known is None:
        template_id = f"tpl_{secrets.token_hex(4)}"
        known = {"id": template_id, "name": body["name"], "image": body["image"], "request": body, "seen": 0}
        platform.templates[template_id] = known
    return {"id": known["id"], "bake_mode": "built"}


def template(platform: Platform, _body: Body, template_id: str) -> Any:
    row = platform.templates.get(template_id)
    if row is None:
        raise Refused(404, "not_found", "no such template")
    row["seen"] += 1
    if platform.build_error and row["seen"] >= platform.looks:
        state = {"phase": "Failed", "converge_state": "converging", "error": platform.build_error, "build_fails": 1}
    elif row["seen"] >= platform.looks:
        state = {"phase": "Live", "converge_state": "converged", "error": ""}
    else:
        state = {"phase": "Converting", "converge_state": "converging", "error": ""}
    return {"id": template_id, "name": row["name"], "visibility": "private", "declared": 0, "per_node": None, **state}


def templates(platform: Platform, _body: Body) -> Any:
    rows = platform.templates.values()
    return {"templates": [{"id": row["id"], "name": row["name"], "visibility": "private"} for row in rows]}


def delete_template(platform: Platform, _body: Body, template_id: str) -> Any:
    if platform.templates.pop(template_id, None) is None:
        raise Refused(404, "not_found", "no such template")
    return {"deleted": True, "id": template_id}


def expect(platform: Platform, body: Body, template_id: str) -> Any:
    assert body is not None
    # As the platform does, a name stands for its template.
    if not any(template_id in (row["id"], row["name"]) for row in platform.templates.values()):
        raise Refused(404, "not_found", "no such template")
    return {"id": template_id, "expected_width": body["width"]}


def release(_platform: Platform, _body: Body, template_id: str) -> Any:
    return {"id": template_id, "released": True, "released_at": "2026-01-01T00:00:00Z"}


def create(platform: Platform, body: Body) -> Any:
    assert body is not None
    return platform.sandboxes.create(body["template"])


def sandboxes(platform: Platform, _body: Body) -> Any:
    return {"sandboxes": list(platform.sandboxes.live.values())}


def sandbox(platform: Platform, _body: Body, sandbox_id: str) -> Any:
    return platform.sandboxes.live[platform.sandbox(sandbox_id)]


def run(platform: Platform, body: Body, sandbox_id: str) -> Any:
    assert body is not None
    for file in body.get("files", ()):
        Path(file["path"]).write_text(file["content"])
    request = {"code": body["code"]} if "code" in body else {"argv": argv_of(body)}
    common = {
        "exec_time_ms": 1,
        "seed": body.get("seed", "0" * 64),
        "seed_ack": "verified" if "seed" in body else "off",
    }
    try:
        return {**platform.sandboxes.ask(platform.sandbox(sandbox_id), request, body["timeout_seconds"]), **common}
    except TimeoutError:
        return {"stdout": "", "stderr": "timeout", "exit_code": -1, "timed_out": True, "signal": 9, **common}


def argv_of(body: dict[str, Any]) -> list[str]:
    if "command" in body:
        return ["sh", "-c", body["command"]]
    return body["commands"][0]


def put_file(platform: Platform, body: Any, sandbox_id: str, query: str) -> Any:
    path = file_of(platform, sandbox_id, query)
    if path.is_dir():
        raise Refused(400, "bad_request", f"cannot replace {path}: Is a directory", path=str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body or b"")
    return {"path": str(path), "size": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def get_file(platform: Platform, _body: Body, sandbox_id: str, query: str) -> bytes:
    path = file_of(platform, sandbox_id, query)
    if not path.exists():
        raise Refused(404, "not_found", f"cannot read {path}: No such file or directory", path=str(path))
    return path.read_bytes()


def file_of(platform: Platform, sandbox_id: str, query: str) -> Path:
    platform.sandbox(sandbox_id)
    return Path(parse_qs(query)["path"][0])


def fork(platform: Platform, body: Body, sandbox_id: str) -> Any:
    assert body is not None
    count = body["count"]
    if count > platform.fork_cap:
        raise Refused(400, "bad_request", f"count: at most {platform.fork_cap}")
    children = platform.sandboxes.fork(platform.sandbox(sandbox_id), count)
    kept = children[: count - platform.lost_children]
    return {"id": sandbox_id, "group_id": "grp_1", "fork_time_ms": 7.5, "pause_ms": 3.25, "children": kept}


def delete(platform: Platform, _body: Body, sandbox_id: str) -> Any:
    if not platform.sandboxes.delete(sandbox_id):
        raise Refused(404, "not_found", "no such sandbox")
    return {"deleted": True, "id": sandbox_id}


def connect_url(_platform: Platform, body: Body, sandbox_id: str) -> Any:
    assert body is not None
    return {"url": f"ws://127.0.0.1/connect?port={body['port']}&t={sandbox_id}"}


def usage(_platform: Platform, _body: Body) -> Any:
    return {"from": "a", "to": "b", "totals": {"sandboxes": 1, "live_seconds": 2.5}}


TEMPLATE, SANDBOX = r"/v1/templates/(?P<template_id>[^/]+)", r"/v1/sandboxes/(?P<sandbox_id>[^/]+)"
ROUTES = (
    ("GET", r"/v1/health", health),
    ("GET", r"/v1/images", images),
    ("POST", r"/v1/templates", create_template),
    ("GET", r"/v1/templates", templates),
    ("GET", TEMPLATE, template),
    ("DELETE", TEMPLATE, delete_template),
    ("POST", TEMPLATE + "/expect", expect),
    ("POST", TEMPLATE + "/release", release),
    ("POST", r"/v1/sandboxes", create),
    ("GET", r"/v1/sandboxes", sandboxes),
    ("GET", SANDBOX, sandbox),
    ("POST", SANDBOX + "/exec", run),
    ("PUT", SANDBOX + r"/files\?(?P<query>.*)", put_file),
    ("GET", SANDBOX + r"/files\?(?P<query>.*)", get_file),
    ("POST", SANDBOX + "/fork", fork),
    ("DELETE", SANDBOX, delete),
    ("POST", SANDBOX + "/connect-url", connect_url),
    ("GET", r"/v1/usage(\?.*)?", usage),
)
