# SPDX-License-Identifier: Apache-2.0
# Generated from ../_async/sandbox_routes.py by tools/generate_sync.py; edit that file instead.
"""The gateway's routes for sandboxes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..constants import CDP_PORT, CONNECT_URL_MAX_TTL
from ..errors import CollimateError, GatewayError, NotFoundError
from ..exec_request import Files, exec_body
from ..json_types import JsonObject, as_object, as_rows, text
from ..wire.call import Call, Repeat, segment
from .files import download, upload
from .routes import Routes

log = logging.getLogger("collimate_rl")
UNDO_TIMEOUT = 10.0
"""Seconds that an interrupted create or fork may take to learn what it made, so as to delete it."""


class SandboxRoutes(Routes):
    """Create, run in, fork, suspend, delete."""

    def create_sandbox(
        self,
        template: str,
        *,
        label: str | None = None,
        labels: Mapping[str, str] | None = None,
        egress: Mapping[str, Any] | None = None,
        secret_refs: Sequence[str] | None = None,
    ) -> JsonObject:
        body: JsonObject = {"template": template}
        if label is not None:
            body["label"] = label
        if labels:
            body["labels"] = dict(labels)
        if egress is not None:
            body["egress"] = dict(egress)
        if secret_refs:
            body["secret_refs"] = list(secret_refs)
        call = Call("POST", "/v1/sandboxes", body)
        reply = self._make(call, lambda answer: [text(answer, "id")])
        if not text(reply, "id"):
            raise GatewayError("the server's answer to a create names no sandbox")
        return reply

    def fork(
        self, sandbox_id: str, *, count: int = 1, labels: Sequence[str] | None = None, total: float | None = None
    ) -> JsonObject:
        """Fork a live sandbox into `count` children in one request: all of them, or an error and none."""
        body: JsonObject = {"count": count}
        if labels is not None:
            body["labels"] = list(labels)
        call = Call("POST", f"/v1/sandboxes/{segment(sandbox_id)}/fork", body, total=total)
        return self._make(call, child_ids)

    def list_sandboxes(self) -> list[JsonObject]:
        return as_rows(self._http.send(Call("GET", "/v1/sandboxes")), "sandboxes")

    def get_sandbox(self, sandbox_id: str) -> JsonObject:
        return self._object("GET", f"/v1/sandboxes/{segment(sandbox_id)}")

    def delete_sandbox(self, sandbox_id: str) -> JsonObject:
        """Delete; one that is gone already is no error. Every other refusal raises: a silent one leaks a sandbox."""
        try:
            return self._object("DELETE", f"/v1/sandboxes/{segment(sandbox_id)}")
        except NotFoundError:
            return {"deleted": False, "id": sandbox_id}

    def exec(
        self,
        sandbox_id: str,
        *,
        command: str | None = None,
        code: str | None = None,
        commands: Sequence[Sequence[str]] | None = None,
        files: Files | None = None,
        timeout_seconds: float = 30,
        seed: str | None = None,
    ) -> JsonObject:
        """Run `command` (shell text), `code` (in the sandbox's interpreter) or `commands` (argument lists)."""
        body = exec_body(
            command=command, code=code, commands=commands, files=files, timeout_seconds=timeout_seconds, seed=seed
        )
        patience = max(self._http.timeout, timeout_seconds + 30)
        path = f"/v1/sandboxes/{segment(sandbox_id)}/exec"
        call = Call("POST", path, body, repeat=Repeat.UNSEEN, timeout=patience, total=patience)
        return as_object(self._http.send(call))

    def upload_bytes(
        self,
        sandbox_id: str,
        path: str,
        data: bytes | bytearray | memoryview,
        *,
        timeout_seconds: float | None = None,
    ) -> None:
        """Write a file of any size, as a whole; missing parents are made."""
        upload(self._http, f"/v1/sandboxes/{segment(sandbox_id)}/files", path, data, timeout_seconds)

    def download(self, sandbox_id: str, path: str, *, timeout_seconds: float | None = None) -> bytes:
        """The bytes of a file."""
        return download(self._http, f"/v1/sandboxes/{segment(sandbox_id)}/files", path, timeout_seconds)

    def suspend(self, sandbox_id: str) -> JsonObject:
        return self._object("POST", f"/v1/sandboxes/{segment(sandbox_id)}/suspend", {})

    def resume(self, sandbox_id: str) -> JsonObject:
        return self._object("POST", f"/v1/sandboxes/{segment(sandbox_id)}/resume", {})

    def connect_url(self, sandbox_id: str, port: int, *, ttl_seconds: int = 600, protocol: str = "tcp") -> JsonObject:
        """A short-lived WebSocket address of a port inside; `protocol` is `tcp` or `cdp`."""
        if isinstance(port, bool) or not 1 <= port <= 65535:
            raise ValueError(f"port must be 1 to 65535, got {port!r}")
        if protocol not in ("tcp", "cdp"):
            raise ValueError(f"protocol must be tcp or cdp, got {protocol!r}")
        body: JsonObject = {"port": port, "ttl_seconds": max(1, min(CONNECT_URL_MAX_TTL, int(ttl_seconds)))}
        if protocol == "cdp":
            body["protocol"] = protocol
        return self._object("POST", f"/v1/sandboxes/{segment(sandbox_id)}/connect-url", body)

    def cdp_url(self, sandbox_id: str, *, ttl_seconds: int = 600) -> str:
        return text(self.connect_url(sandbox_id, CDP_PORT, ttl_seconds=ttl_seconds, protocol="cdp"), "url")

    def delete_quietly(self, sandbox_id: str) -> None:
        """Delete while something else is being raised: what goes wrong is logged, not raised."""
        try:
            self.delete_sandbox(sandbox_id)
        except CollimateError as error:
            log.warning("sandbox %s could not be deleted and may live on: %s", sandbox_id, error)

    def _make(self, call: Call, made: Callable[[JsonObject], list[str]]) -> JsonObject:
        """Send a call that makes sandboxes. Interrupted in between (Ctrl-C, a cancelled task), delete what it made."""
        try:
            return as_object(self._http.send(call))
        except CollimateError:
            raise
        except BaseException:
            self._unmake(call, made)
            raise

    def _unmake(self, call: Call, made: Callable[[JsonObject], list[str]]) -> None:
        # By its idempotency key the repeated call waits for the same operation and gives the same ids.
        again = Call(
            call.method,
            call.path,
            call.body,
            timeout=UNDO_TIMEOUT,
            total=UNDO_TIMEOUT,
            idempotency_key=call.idempotency_key,
        )
        try:
            reply = as_object(self._http.send_once(again))
        except CollimateError as error:
            log.warning(
                "%s %s was interrupted; what it made is left to the idle limit: %s", call.method, call.path, error
            )
            return
        for sandbox_id in made(reply):
            if sandbox_id:
                self.delete_quietly(sandbox_id)


def child_ids(reply: Mapping[str, Any]) -> list[str]:
    """The ids of the children in a fork's reply."""
    return [text(child, "id") for child in as_rows(reply.get("children"))]
