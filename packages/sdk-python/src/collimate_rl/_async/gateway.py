# SPDX-License-Identifier: Apache-2.0
"""The client of a gateway: templates, sandboxes, forks, usage, with an API key."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..constants import CDP_PORT, CONNECT_URL_MAX_TTL, GATEWAY_URL
from ..errors import CollimateError, GatewayError, NotFoundError
from ..exec_request import Files, exec_body
from ..json_types import JsonObject, as_object, as_rows, text
from ..ready import merged_ready
from ..wire.call import Call, Repeat, segment
from ..wire.patience import RetryPolicy
from ..wire.time import rfc3339
from .env import AsyncEnv, open_env
from .http import AsyncHttp
from .session import AsyncSession

if TYPE_CHECKING:
    from .template import AsyncTemplateHandle

log = logging.getLogger("collimate_rl")
UNDO_TIMEOUT = 10.0
"""Seconds that an interrupted create or fork may take to learn what it made, so as to delete it."""


class AsyncGatewayClient:
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
        key = api_key or os.environ.get("COLLIMATE_API_KEY")
        if not key:
            raise ValueError("no API key: pass api_key= or set COLLIMATE_API_KEY")
        self.api_key = key
        self.base = (base_url or os.environ.get("COLLIMATE_BASE_URL") or GATEWAY_URL).rstrip("/")
        self._http = AsyncHttp(
            self.base,
            headers={"Authorization": f"Bearer {key}"},
            timeout=timeout,
            policy=RetryPolicy(retries, backoff, retry_budget),
            proxy=proxy,
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

    # Templates

    async def create_template(
        self,
        *,
        name: str,
        image: str,
        ready: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        width: int,
        cold_fraction: int = 0,
        expected_width: int | None = None,
        resources: Mapping[str, float] | None = None,
    ) -> JsonObject:
        """Ask for a bake. The same name with the same content gives the same template again.

        `env` is merged into `ready["env"]`, which wins. `resources`: any of vcpus, memory_mib, disk_mib, pids.
        """
        pool: JsonObject = {"width": width}
        if cold_fraction:
            pool["cold_fraction"] = cold_fraction
        body: JsonObject = {"name": name, "image": image, "pool": pool}
        wire_ready = merged_ready(ready, env)
        if wire_ready:
            body["ready"] = wire_ready
        if expected_width is not None:
            body["expected_width"] = expected_width
        if resources:
            body["resources"] = dict(resources)
        return await self._object("POST", "/v1/templates", body)

    async def get_template(self, template_id: str) -> JsonObject:
        return await self._object("GET", f"/v1/templates/{segment(template_id)}")

    async def list_templates(self) -> list[JsonObject]:
        return as_rows(await self._http.send(Call("GET", "/v1/templates")), "templates")

    async def delete_template(self, template_id: str) -> JsonObject:
        return await self._object("DELETE", f"/v1/templates/{segment(template_id)}")

    async def expect_width(self, template_id: str, width: int) -> JsonObject:
        """Say that `width` sandboxes will be wanted at once; `release_template` takes it back."""
        return await self._object("POST", f"/v1/templates/{segment(template_id)}/expect", {"width": width})

    async def release_template(self, template_id: str) -> JsonObject:
        return await self._object("POST", f"/v1/templates/{segment(template_id)}/release", {})

    # Sandboxes

    async def create_sandbox(
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
        reply = await self._make(call, lambda answer: [text(answer, "id")])
        if not text(reply, "id"):
            raise GatewayError("the server's answer to a create names no sandbox")
        return reply

    async def fork(
        self, sandbox_id: str, *, count: int = 1, labels: Sequence[str] | None = None, total: float | None = None
    ) -> JsonObject:
        """Fork a live sandbox into `count` children in one request: all of them, or an error and none."""
        body: JsonObject = {"count": count}
        if labels is not None:
            body["labels"] = list(labels)
        call = Call("POST", f"/v1/sandboxes/{segment(sandbox_id)}/fork", body, total=total)
        return await self._make(call, child_ids)

    async def list_sandboxes(self) -> list[JsonObject]:
        return as_rows(await self._http.send(Call("GET", "/v1/sandboxes")), "sandboxes")

    async def get_sandbox(self, sandbox_id: str) -> JsonObject:
        return await self._object("GET", f"/v1/sandboxes/{segment(sandbox_id)}")

    async def delete_sandbox(self, sandbox_id: str) -> JsonObject:
        """Delete; one that is gone already is no error. Every other refusal raises: a silent one leaks a sandbox."""
        try:
            return await self._object("DELETE", f"/v1/sandboxes/{segment(sandbox_id)}")
        except NotFoundError:
            return {"deleted": False, "id": sandbox_id}

    async def exec(
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
        return as_object(await self._http.send(call))

    async def suspend(self, sandbox_id: str) -> JsonObject:
        return await self._object("POST", f"/v1/sandboxes/{segment(sandbox_id)}/suspend", {})

    async def resume(self, sandbox_id: str) -> JsonObject:
        return await self._object("POST", f"/v1/sandboxes/{segment(sandbox_id)}/resume", {})

    async def connect_url(
        self, sandbox_id: str, port: int, *, ttl_seconds: int = 600, protocol: str = "tcp"
    ) -> JsonObject:
        """A short-lived WebSocket address of a port inside; `protocol` is `tcp` or `cdp`."""
        if isinstance(port, bool) or not 1 <= port <= 65535:
            raise ValueError(f"port must be 1 to 65535, got {port!r}")
        if protocol not in ("tcp", "cdp"):
            raise ValueError(f"protocol must be tcp or cdp, got {protocol!r}")
        body: JsonObject = {"port": port, "ttl_seconds": max(1, min(CONNECT_URL_MAX_TTL, int(ttl_seconds)))}
        if protocol == "cdp":
            body["protocol"] = protocol
        return await self._object("POST", f"/v1/sandboxes/{segment(sandbox_id)}/connect-url", body)

    async def cdp_url(self, sandbox_id: str, *, ttl_seconds: int = 600) -> str:
        return text(await self.connect_url(sandbox_id, CDP_PORT, ttl_seconds=ttl_seconds, protocol="cdp"), "url")

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

    # Parts

    async def delete_quietly(self, sandbox_id: str) -> None:
        """Delete while something else is being raised: what goes wrong is logged, not raised."""
        try:
            await self.delete_sandbox(sandbox_id)
        except CollimateError as error:
            log.warning("sandbox %s could not be deleted and may live on: %s", sandbox_id, error)

    async def _object(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        return as_object(await self._http.send(Call(method, path, body)))

    async def _make(self, call: Call, made: Callable[[JsonObject], list[str]]) -> JsonObject:
        """Send a call that makes sandboxes. Interrupted in between (Ctrl-C, a cancelled task), delete what it made."""
        try:
            return as_object(await self._http.send(call))
        except CollimateError:
            raise
        except BaseException:
            await self._unmake(call, made)
            raise

    async def _unmake(self, call: Call, made: Callable[[JsonObject], list[str]]) -> None:
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
            reply = as_object(await self._http.send_once(again))
        except CollimateError as error:
            log.warning(
                "%s %s was interrupted; what it made is left to the idle limit: %s", call.method, call.path, error
            )
            return
        for sandbox_id in made(reply):
            if sandbox_id:
                await self.delete_quietly(sandbox_id)


def child_ids(reply: Mapping[str, Any]) -> list[str]:
    """The ids of the children in a fork's reply."""
    return [text(child, "id") for child in as_rows(reply.get("children"))]


def with_session_names(row: JsonObject) -> JsonObject:
    """A sandbox row with the names of the daemon surface added."""
    template = text(row, "template_id") or text(row, "template")
    return {**row, "session_id": text(row, "session_id") or text(row, "id"), "template_id": template}
