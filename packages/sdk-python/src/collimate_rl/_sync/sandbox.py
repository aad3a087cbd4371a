# SPDX-License-Identifier: Apache-2.0
# Generated from ../_async/sandbox.py by tools/generate_sync.py; edit that file instead.
"""One sandbox, on either kind of client."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..constants import WARM_FORK_MS
from ..errors import CollimateError, NotSupportedError, SandboxClosed
from ..exec_request import Files, check_seed_applied
from ..exec_result import ExecResult
from ..json_types import JsonObject, as_object, number, text
from ..seeds import check_seed, step_seed
from .concurrency import Lock
from .gateway import GatewayClient

if TYPE_CHECKING:
    from .session_client import SessionClient

log = logging.getLogger("collimate_rl")


class Sandbox:
    """A sandbox of `template`, created when first used and deleted by `close` or at the end of a with-block.

    `default_seed` seeds every exec that names no seed: the first with the seed itself, each later one with a seed derived
    from it. `require_seed`: raise `SeedNotApplied` unless the server verified the seed. `keep_on_error`: a with-block left
    by an exception leaves the sandbox alive, to look into.
    """

    def __init__(
        self,
        template: str,
        *,
        client: SessionClient | None = None,
        egress: Mapping[str, Any] | None = None,
        default_timeout: float = 60,
        keep_on_error: bool = False,
        default_seed: str | None = None,
        require_seed: bool = False,
    ) -> None:
        if client is None:
            from .connect import connect  # noqa: PLC0415 - connect needs the clients first

            client = connect()
        self.client: SessionClient = client
        self.template = template
        self.egress = egress
        self.default_timeout = default_timeout
        self.keep_on_error = keep_on_error
        self.default_seed = None if default_seed is None else check_seed(default_seed)
        self.require_seed = require_seed
        self.session_id: str | None = None
        self.fork_time_ms: float = -1
        self.endpoints: dict[str, str] = {}
        self._closed = False
        self._steps = itertools.count()
        self._starting = Lock()

    @classmethod
    def adopt(cls, client: SessionClient, session_id: str, *, template: str = "", **options: Any) -> Self:
        """Take over a sandbox that is known to live; no request."""
        sandbox = cls(template, client=client, **options)
        sandbox.session_id = session_id
        return sandbox

    @classmethod
    def attach(cls, client: SessionClient, session_id: str, **options: Any) -> Self:
        """Take over a sandbox after looking that it is there."""
        row = client.get_session(session_id)
        sandbox = cls.adopt(client, session_id, **{"template": text(row, "template_id"), **options})
        sandbox._note(row)
        return sandbox

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not (self.keep_on_error and error is not None):
            self.close()

    @property
    def warm_hit(self) -> bool:
        """Whether the server had it ready: at most a millisecond by its own clock."""
        return 0 <= self.fork_time_ms <= WARM_FORK_MS

    def start(self) -> None:
        """Create it, unless it lives. After `close` this makes a new one."""
        with self._starting:
            if self.session_id is not None:
                return
            reply = self.client.create_session(self.template, egress=self.egress)
            session_id = text(reply, "session_id")
            if not session_id:
                raise CollimateError("the server's answer to a create names no session")
            self._note(reply)
            self.session_id, self._closed, self._steps = session_id, False, itertools.count()

    def close(self, *, strict: bool = False) -> None:
        """Delete it. What goes wrong is logged, or raised when `strict`."""
        session_id, self.session_id, self._closed = self.session_id, None, True
        if session_id is None:
            return
        if strict:
            self.client.delete_session(session_id)
        else:
            self.client.delete_quietly(session_id)

    def reset(self) -> None:
        """Delete it and create another: a fresh start from the template."""
        self.close()
        self.start()

    def exec(
        self,
        code: str | None = None,
        *,
        command: str | None = None,
        commands: Sequence[Sequence[str]] | None = None,
        files: Files | None = None,
        timeout_seconds: float | None = None,
        seed: str | None = None,
        require_seed: bool | None = None,
    ) -> ExecResult:
        """Run `code` in the sandbox's interpreter, `command` in a shell, or `commands` as argument lists.

        After `timeout_seconds` (None: `default_timeout`) the program is ended and the result says `timed_out`.
        """
        session_id = self._live()
        if seed is None and self.default_seed is not None:
            seed = step_seed(self.default_seed, next(self._steps))
        reply = self.client.session_exec(
            session_id,
            command=command,
            code=code,
            commands=commands,
            files=files,
            timeout_seconds=self.default_timeout if timeout_seconds is None else timeout_seconds,
            seed=seed,
        )
        if self.require_seed if require_seed is None else require_seed:
            check_seed_applied(reply, seed)
        return ExecResult.from_response(reply)

    def upload_bytes(
        self, path: str, data: bytes | bytearray | memoryview, *, timeout_seconds: float | None = None
    ) -> None:
        """Write the file `path` (absolute), as a whole: it is there with all its bytes, or nothing has changed.

        Missing parents are made. `CollimateTaskError` when the sandbox cannot have such a file. `timeout_seconds` is for
        the whole transfer; None: an hour.
        """
        self.client.upload_bytes(self._live(), path, data, timeout_seconds=timeout_seconds)

    def download(self, path: str, *, timeout_seconds: float | None = None) -> bytes:
        """The bytes of the file `path` (absolute). `CollimateTaskError` when there is no such file."""
        return self.client.download(self._live(), path, timeout_seconds=timeout_seconds)

    def connect_url(self, port: int, *, ttl_seconds: int = 600, protocol: str = "tcp") -> str:
        """A short-lived WebSocket address of a port inside."""
        client = self._gateway("connect_url")
        return text(client.connect_url(self._live(), port, ttl_seconds=ttl_seconds, protocol=protocol), "url")

    def cdp_url(self, *, ttl_seconds: int = 600) -> str:
        """A short-lived address of the browser inside, for the Chrome DevTools protocol."""
        return self._gateway("cdp_url").cdp_url(self._live(), ttl_seconds=ttl_seconds)

    def _live(self) -> str:
        if self._closed:
            raise SandboxClosed("this sandbox was closed; call start() for a new one")
        if self.session_id is None:
            self.start()
        if self.session_id is None:
            raise SandboxClosed("this sandbox was closed while it started")
        return self.session_id

    def _gateway(self, what: str) -> GatewayClient:
        if not isinstance(self.client, GatewayClient):
            raise NotSupportedError(f"{what}: gateway only")
        return self.client

    def _note(self, reply: JsonObject) -> None:
        self.fork_time_ms = number(reply, "fork_time_ms", -1)
        self.endpoints = {str(port): str(address) for port, address in as_object(reply.get("endpoints")).items()}

    def noting(self, row: JsonObject) -> Self:
        """Take fork time and endpoints from a row of the server; returns itself."""
        self._note(row)
        return self
