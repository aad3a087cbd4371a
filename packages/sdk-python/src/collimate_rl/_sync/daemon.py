# SPDX-License-Identifier: Apache-2.0
# Generated from ../_async/daemon.py by tools/generate_sync.py; edit that file instead.
"""The client of a node's daemon: sandboxes of that node, over a unix socket or TCP, without a key."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from ..constants import DAEMON_URL, NODE_SOCKET
from ..errors import CollimateError, NotFoundError, NotSupportedError
from ..exec_request import Files, exec_body
from ..json_types import JsonObject, as_object, as_rows
from ..wire.call import Call, Repeat, segment
from ..wire.patience import RetryPolicy
from .files import download, upload
from .http import Http

log = logging.getLogger("collimate_rl")


class CollimateClient:
    """A node's daemon. `unix_socket` wins over `base_url`; the other options are those of the gateway client."""

    def __init__(
        self,
        base_url: str = DAEMON_URL,
        timeout: float = 120.0,
        retries: int | None = None,
        backoff: float = 0.15,
        retry_budget: float = 60.0,
        unix_socket: str | None = None,
        proxy: str | None = None,
    ) -> None:
        self.base = "http://localhost" if unix_socket else base_url.rstrip("/")
        self.unix_socket = unix_socket
        self._http = Http(
            self.base,
            timeout=timeout,
            policy=RetryPolicy(retries, backoff, retry_budget),
            unix_socket=unix_socket,
            proxy=proxy,
            prefix_errors=True,
        )

    @classmethod
    def for_node_socket(cls, path: str = NODE_SOCKET, **options: Any) -> Self:
        return cls(unix_socket=path, **options)

    @classmethod
    def from_env(cls, **options: Any) -> Self:
        """COLLIMATE_SERVE_SOCKET, else COLLIMATE_SERVE_URL, else the node's socket if it is there, else the loopback."""
        if socket := os.environ.get("COLLIMATE_SERVE_SOCKET"):
            return cls(unix_socket=socket, **options)
        if url := os.environ.get("COLLIMATE_SERVE_URL"):
            return cls(url, **options)
        if Path(NODE_SOCKET).exists():
            return cls.for_node_socket(**options)
        return cls(**options)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. Sessions are not touched."""
        self._http.close()

    def health(self) -> JsonObject:
        return as_object(self._http.send(Call("GET", "/v1/health")))

    def templates(self) -> list[str]:
        """The ids of the templates that this node holds."""
        ids: object = (self.health()).get("templates")
        return [str(template) for template in ids] if isinstance(ids, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    def images(self) -> NoReturn:
        raise NotSupportedError("images: gateway only; a daemon has templates()")

    def list_images(self) -> NoReturn:
        self.images()

    def list_sessions(self) -> list[JsonObject]:
        return as_rows(self._http.send(Call("GET", "/v1/sessions")))

    def create_session(self, template_id: str, *, egress: Mapping[str, Any] | None = None) -> JsonObject:
        body: JsonObject = {"template_id": template_id}
        if egress is not None:
            body["egress"] = dict(egress)
        return as_object(self._http.send(Call("POST", "/v1/sessions", body)))

    def get_session(self, session_id: str) -> JsonObject:
        return as_object(self._http.send(Call("GET", f"/v1/sessions/{segment(session_id)}")))

    def delete_session(self, session_id: str) -> JsonObject:
        """Delete; one that is gone already is no error. Every other refusal raises: a silent one leaks a sandbox."""
        try:
            return as_object(self._http.send(Call("DELETE", f"/v1/sessions/{segment(session_id)}")))
        except NotFoundError:
            return {"deleted": False, "session_id": session_id}

    def session_exec(
        self,
        session_id: str,
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
        return self._exec(f"/v1/sessions/{segment(session_id)}/exec", body, timeout_seconds)

    def upload_bytes(
        self,
        session_id: str,
        path: str,
        data: bytes | bytearray | memoryview,
        *,
        timeout_seconds: float | None = None,
    ) -> None:
        """Write a file of any size, as a whole; missing parents are made."""
        upload(self._http, f"/v1/sessions/{segment(session_id)}/files", path, data, timeout_seconds)

    def download(self, session_id: str, path: str, *, timeout_seconds: float | None = None) -> bytes:
        """The bytes of a file."""
        return download(self._http, f"/v1/sessions/{segment(session_id)}/files", path, timeout_seconds)

    def exec_once(
        self,
        template_id: str,
        *,
        command: str | None = None,
        code: str | None = None,
        commands: Sequence[Sequence[str]] | None = None,
        files: Files | None = None,
        timeout_seconds: float = 30,
        seed: str | None = None,
        egress: Mapping[str, Any] | None = None,
    ) -> JsonObject:
        """One request that makes a sandbox, runs in it and deletes it."""
        body = exec_body(
            command=command, code=code, commands=commands, files=files, timeout_seconds=timeout_seconds, seed=seed
        )
        body["template_id"] = template_id
        if egress is not None:
            body["egress"] = dict(egress)
        return self._exec("/v1/exec", body, timeout_seconds)

    def delete_quietly(self, session_id: str) -> None:
        """Delete while something else is being raised: what goes wrong is logged, not raised."""
        try:
            self.delete_session(session_id)
        except CollimateError as error:
            log.warning("session %s could not be deleted and may live on: %s", session_id, error)

    def _exec(self, path: str, body: JsonObject, timeout_seconds: float) -> JsonObject:
        patience = max(self._http.timeout, timeout_seconds + 30)
        call = Call("POST", path, body, repeat=Repeat.UNSEEN, timeout=patience, total=patience)
        return as_object(self._http.send(call))
