# SPDX-License-Identifier: Apache-2.0
"""The client of a gateway: templates, sandboxes, forks, usage, with an API key."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..constants import GATEWAY_URL
from ..json_types import JsonObject, as_object, as_rows, text
from ..wire.call import Call
from ..wire.patience import RetryPolicy
from ..wire.time import rfc3339
from .env import AsyncEnv, open_env
from .http import AsyncHttp
from .sandbox_routes import AsyncSandboxRoutes
from .session import AsyncSession
from .template_routes import AsyncTemplateRoutes

if TYPE_CHECKING:
    from .template import AsyncTemplateHandle


class AsyncGatewayClient(AsyncTemplateRoutes, AsyncSandboxRoutes):
    """A gateway, spoken to with an API key. Share one: it holds one pool of connections.

    `timeout`: longest silence of the server, in seconds. `retry_budget`: seconds after a first failure in which the call is
    tried again, where that is safe; `retries` caps the count. Every POST carries an idempotency key, so that a repeated
    create, fork or bake is done once. `proxy` is used when given; the environment's proxies are not.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        timeout: float = 120.0,
        retries: int | None = None,
        backoff: float = 0.15,
        retry_budget: float = 60.0,
        proxy: str | None = None,
    ) -> None:
        key = (api_key or os.environ.get("COLLIMATE_API_KEY") or "").strip()
        if not key:
            raise ValueError("no API key: pass api_key= or set COLLIMATE_API_KEY")
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ValueError("the API key holds characters that no key has; was more than the key copied?")
        self.api_key = key
        self.base = (base_url or os.environ.get("COLLIMATE_BASE_URL") or GATEWAY_URL).rstrip("/")
        super().__init__(
            AsyncHttp(
                self.base,
                headers={"Authorization": f"Bearer {key}"},
                timeout=timeout,
                policy=RetryPolicy(retries, backoff, retry_budget),
                proxy=proxy,
            )
        )

    @classmethod
    def from_env(cls, **options: Any) -> Self:
        """From COLLIMATE_API_KEY and COLLIMATE_BASE_URL."""
        return cls(**options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections. Sandboxes are not touched."""
        await self._http.aclose()

    # The platform

    async def health(self) -> JsonObject:
        return await self._object("GET", "/v1/health")

    async def images(self) -> list[JsonObject]:
        """The images that a sandbox can be made of: the shared catalog, and what the server adds of one's own."""
        return as_rows(await self._http.send(Call("GET", "/v1/images")), "images", "templates")

    async def list_images(self) -> list[JsonObject]:
        return await self.images()

    async def usage(
        self, *, from_ts: str | float | datetime | None = None, to_ts: str | float | datetime | None = None
    ) -> JsonObject:
        """What was used between two instants (RFC 3339 text, datetime or epoch seconds; by default the last 30 days)."""
        query = {key: rfc3339(value) for key, value in (("from", from_ts), ("to", to_ts)) if value is not None}
        return as_object(await self._http.send(Call("GET", "/v1/usage", query=query or None)))

    # The same under the names that both kinds of client have

    async def list_sessions(self) -> list[JsonObject]:
        return [with_session_names(row) for row in await self.list_sandboxes()]

    async def create_session(self, template_id: str, *, egress: Mapping[str, Any] | None = None) -> JsonObject:
        return with_session_names(await self.create_sandbox(template_id, egress=egress))

    async def get_session(self, session_id: str) -> JsonObject:
        return with_session_names(await self.get_sandbox(session_id))

    async def delete_session(self, session_id: str) -> JsonObject:
        return await self.delete_sandbox(session_id)

    async def session_exec(self, session_id: str, **request: Any) -> JsonObject:
        """`exec`, with the same arguments."""
        return await self.exec(session_id, **request)

    async def exec_once(
        self, template_id: str, *, egress: Mapping[str, Any] | None = None, **request: Any
    ) -> JsonObject:
        """Create a sandbox, `exec` in it, delete it whatever happens."""
        sandbox_id = text(await self.create_sandbox(template_id, egress=egress), "id")
        try:
            return await self.exec(sandbox_id, **request)
        finally:
            await self.delete_quietly(sandbox_id)

    # Objects

    def session(
        self,
        template: str | AsyncTemplateHandle,
        *,
        label: str | None = None,
        egress: Mapping[str, Any] | None = None,
        default_timeout: float = 30,
        secret_refs: Sequence[str] | None = None,
    ) -> AsyncSession:
        """One sandbox as a with-block; not opened yet."""
        return AsyncSession(
            self, template, label=label, egress=egress, default_timeout=default_timeout, secret_refs=secret_refs
        )

    async def env(
        self,
        ref: str,
        *,
        width: int | None = None,
        name: str | None = None,
        ready: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        secrets: Sequence[str] | None = None,
    ) -> AsyncEnv:
        """A place to take sandboxes from: a catalog image or one's own template, by id or name. See `open_env`."""
        return await open_env(self, ref, width=width, name=name, ready=ready, env=env, secrets=secrets)


def with_session_names(row: JsonObject) -> JsonObject:
    """A sandbox row with the names of the daemon surface added."""
    template = text(row, "template_id") or text(row, "template")
    return {**row, "session_id": text(row, "session_id") or text(row, "id"), "template_id": template}
