# SPDX-License-Identifier: Apache-2.0
# Generated from ../_async/gateway.py by tools/generate_sync.py; edit that file instead.
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
from .env import Env, open_env
from .http import Http
from .sandbox_routes import SandboxRoutes
from .session import Session
from .template_routes import TemplateRoutes

if TYPE_CHECKING:
    from .template import TemplateHandle


class GatewayClient(TemplateRoutes, SandboxRoutes):
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
            Http(
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. Sandboxes are not touched."""
        self._http.close()

    # The platform

    def health(self) -> JsonObject:
        return self._object("GET", "/v1/health")

    def images(self) -> list[JsonObject]:
        """The images that a sandbox can be made of: the shared catalog, and what the server adds of one's own."""
        return as_rows(self._http.send(Call("GET", "/v1/images")), "images", "templates")

    def list_images(self) -> list[JsonObject]:
        return self.images()

    def usage(
        self, *, from_ts: str | float | datetime | None = None, to_ts: str | float | datetime | None = None
    ) -> JsonObject:
        """What was used between two instants (RFC 3339 text, datetime or epoch seconds; by default the last 30 days)."""
        query = {key: rfc3339(value) for key, value in (("from", from_ts), ("to", to_ts)) if value is not None}
        return as_object(self._http.send(Call("GET", "/v1/usage", query=query or None)))

    # The same under the names that both kinds of client have

    def list_sessions(self) -> list[JsonObject]:
        return [with_session_names(row) for row in self.list_sandboxes()]

    def create_session(self, template_id: str, *, egress: Mapping[str, Any] | None = None) -> JsonObject:
        return with_session_names(self.create_sandbox(template_id, egress=egress))

    def get_session(self, session_id: str) -> JsonObject:
        return with_session_names(self.get_sandbox(session_id))

    def delete_session(self, session_id: str) -> JsonObject:
        return self.delete_sandbox(session_id)

    def session_exec(self, session_id: str, **request: Any) -> JsonObject:
        """`exec`, with the same arguments."""
        return self.exec(session_id, **request)

    def exec_once(self, template_id: str, *, egress: Mapping[str, Any] | None = None, **request: Any) -> JsonObject:
        """Create a sandbox, `exec` in it, delete it whatever happens."""
        sandbox_id = text(self.create_sandbox(template_id, egress=egress), "id")
        try:
            return self.exec(sandbox_id, **request)
        finally:
            self.delete_quietly(sandbox_id)

    # Objects

    def session(
        self,
        template: str | TemplateHandle,
        *,
        label: str | None = None,
        egress: Mapping[str, Any] | None = None,
        default_timeout: float = 30,
        secret_refs: Sequence[str] | None = None,
    ) -> Session:
        """One sandbox as a with-block; not opened yet."""
        return Session(
            self, template, label=label, egress=egress, default_timeout=default_timeout, secret_refs=secret_refs
        )

    def env(
        self,
        ref: str,
        *,
        width: int | None = None,
        name: str | None = None,
        ready: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        secrets: Sequence[str] | None = None,
    ) -> Env:
        """A place to take sandboxes from: a catalog image or one's own template, by id or name. See `open_env`."""
        return open_env(self, ref, width=width, name=name, ready=ready, env=env, secrets=secrets)


def with_session_names(row: JsonObject) -> JsonObject:
    """A sandbox row with the names of the daemon surface added."""
    template = text(row, "template_id") or text(row, "template")
    return {**row, "session_id": text(row, "session_id") or text(row, "id"), "template_id": template}
