# SPDX-License-Identifier: Apache-2.0
"""The with-block around one sandbox of a gateway, and where fork groups come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..errors import SandboxClosed
from ..exec_request import Files, check_seed_applied
from ..exec_result import ExecResult
from ..json_types import JsonObject, as_rows, number, text
from .concurrency import AsyncLock

if TYPE_CHECKING:
    from .fork_group import AsyncForkGroup
    from .gateway import AsyncGatewayClient
    from .template import AsyncTemplateHandle


class AsyncSession:
    """A sandbox of `template` (an id, a name or a handle), opened at the start of a with-block and deleted at its end.

    exec, fork and connect open it when needed, but never again after it was closed.
    """

    def __init__(
        self,
        client: AsyncGatewayClient,
        template: str | AsyncTemplateHandle,
        *,
        label: str | None = None,
        egress: Mapping[str, Any] | None = None,
        default_timeout: float = 30,
        secret_refs: Sequence[str] | None = None,
    ) -> None:
        self.client = client
        self.template = template if isinstance(template, str) else template.id
        self.default_timeout = default_timeout
        self.id: str | None = None
        self.raw_create: JsonObject = {}
        self.fork_time_ms: float = -1
        self.create_time_ms: float = -1
        self._label, self._egress, self._secret_refs = label, egress, secret_refs
        self._closed = False
        self._opening = AsyncLock()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> Self:
        """Create the sandbox, unless it lives. After `close` this makes a new one."""
        async with self._opening:
            if self.id is None:
                reply = await self.client.create_sandbox(
                    self.template, label=self._label, egress=self._egress, secret_refs=self._secret_refs
                )
                self.raw_create = reply
                self.fork_time_ms = number(reply, "fork_time_ms", -1)
                self.create_time_ms = number(reply, "create_time_ms", -1)
                self.id, self._closed = text(reply, "id"), False
        return self

    async def close(self, *, strict: bool = False) -> None:
        """Delete the sandbox. What goes wrong is logged, or raised when `strict`."""
        sandbox_id, self.id, self._closed = self.id, None, True
        if sandbox_id is None:
            return
        if strict:
            await self.client.delete_sandbox(sandbox_id)
        else:
            await self.client.delete_quietly(sandbox_id)

    async def exec(
        self,
        *,
        code: str | None = None,
        command: str | None = None,
        commands: Sequence[Sequence[str]] | None = None,
        files: Files | None = None,
        timeout_seconds: float | None = None,
        seed: str | None = None,
        require_seed: bool = False,
    ) -> ExecResult:
        """Run `code` in the sandbox's interpreter, `command` in a shell, or `commands` as argument lists.

        After `timeout_seconds` (None: `default_timeout`) the program is ended and the result says `timed_out`.
        """
        reply = await self.client.exec(
            await self._live(),
            command=command,
            code=code,
            commands=commands,
            files=files,
            timeout_seconds=self.default_timeout if timeout_seconds is None else timeout_seconds,
            seed=seed,
        )
        if require_seed:
            check_seed_applied(reply, seed)
        return ExecResult.from_response(reply)

    async def upload_bytes(
        self, path: str, data: bytes | bytearray | memoryview, *, timeout_seconds: float | None = None
    ) -> None:
        """Write the file `path` (absolute), as a whole: it is there with all its bytes, or nothing has changed.

        Missing parents are made. `CollimateTaskError` when the sandbox cannot have such a file. `timeout_seconds` is for
        the whole transfer; None: an hour.
        """
        await self.client.upload_bytes(await self._live(), path, data, timeout_seconds=timeout_seconds)

    async def download(self, path: str, *, timeout_seconds: float | None = None) -> bytes:
        """The bytes of the file `path` (absolute). `CollimateTaskError` when there is no such file."""
        return await self.client.download(await self._live(), path, timeout_seconds=timeout_seconds)

    async def fork(self, n: int = 1, labels: Sequence[str] | None = None) -> list[JsonObject]:
        """Fork into `n` children; their rows as the server gave them. They are the caller's to delete."""
        return as_rows((await self.client.fork(await self._live(), count=n, labels=labels)).get("children"))

    async def fork_group(
        self,
        n: int,
        *,
        seed_mode: str = "crn",
        base_seed: str | None = None,
        labels: Sequence[str] | None = None,
        default_timeout: float | None = None,
        max_per_call: int | None = None,
        require_seed: bool = False,
    ) -> AsyncForkGroup:
        """Fork into `n` children that carry on from here, as one group: all of them, or an error and none.

        One request, so that all children are of one instant; `max_per_call` splits it for a server with a lower limit.
        Seeds are those of `group_seeds(n, seed_mode, base_seed)`.
        """
        from .fork_group import forked  # noqa: PLC0415 - a group holds its session

        await self._live()
        return await forked(
            self,
            n,
            seed_mode=seed_mode,
            base_seed=base_seed,
            labels=labels,
            default_timeout=self.default_timeout if default_timeout is None else default_timeout,
            max_per_call=max_per_call,
            require_seed=require_seed,
        )

    async def suspend(self) -> JsonObject:
        return await self.client.suspend(self._opened())

    async def resume(self) -> JsonObject:
        return await self.client.resume(self._opened())

    async def connect_url(self, port: int, *, ttl_seconds: int = 600, protocol: str = "tcp") -> str:
        """A short-lived WebSocket address of a port inside."""
        reply = await self.client.connect_url(await self._live(), port, ttl_seconds=ttl_seconds, protocol=protocol)
        return text(reply, "url")

    async def cdp_url(self, *, ttl_seconds: int = 600) -> str:
        """A short-lived address of the browser inside, for the Chrome DevTools protocol."""
        return await self.client.cdp_url(await self._live(), ttl_seconds=ttl_seconds)

    async def _live(self) -> str:
        if self._closed:
            raise SandboxClosed("this session was closed; call open() for a new sandbox")
        if self.id is None:
            await self.open()
        return self._opened()

    def _opened(self) -> str:
        if self.id is None:
            raise SandboxClosed("this session is not open")
        return self.id


def open_session(
    client: AsyncGatewayClient,
    template: str | AsyncTemplateHandle,
    *,
    label: str | None = None,
    egress: Mapping[str, Any] | None = None,
    default_timeout: float = 30,
    secret_refs: Sequence[str] | None = None,
) -> AsyncSession:
    """The same as `client.session(...)`."""
    return AsyncSession(
        client, template, label=label, egress=egress, default_timeout=default_timeout, secret_refs=secret_refs
    )
