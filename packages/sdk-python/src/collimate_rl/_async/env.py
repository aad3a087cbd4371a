# SPDX-License-Identifier: Apache-2.0
"""A place to take sandboxes from: a catalog image or one's own template, by id or by name."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..errors import CollimateError, GatewayError
from ..json_types import JsonObject, text
from ..template_status import TemplateStatus
from .session import AsyncSession
from .template import AsyncTemplateHandle

if TYPE_CHECKING:
    from .gateway import AsyncGatewayClient

log = logging.getLogger("collimate_rl")


class AsyncEnv:
    """Where sandboxes of one template come from. A with-block gives the declared width back at its end."""

    def __init__(
        self,
        client: AsyncGatewayClient,
        template_id: str,
        *,
        ref: str = "",
        releasable: bool = False,
        secret_refs: Sequence[str] | None = None,
    ) -> None:
        self.client = client
        self.id = template_id
        self.ref = ref or template_id
        self.secret_refs = list(secret_refs or ())
        self._releasable = releasable

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.release()

    def sandbox(
        self,
        *,
        label: str | None = None,
        egress: Mapping[str, Any] | None = None,
        default_timeout: float = 30,
        secret_refs: Sequence[str] | None = None,
    ) -> AsyncSession:
        """One sandbox as a with-block, with the env's secrets and these."""
        secrets = [*self.secret_refs, *(secret_refs or ())]
        return AsyncSession(
            self.client,
            self.id,
            label=label,
            egress=egress,
            default_timeout=default_timeout,
            secret_refs=secrets or None,
        )

    async def status(self) -> TemplateStatus:
        return TemplateStatus.from_response(await self.client.get_template(self.id))

    async def wait(self, timeout: float = 600.0, **options: Any) -> TemplateStatus:
        """Wait until it is ready; the options are those of a template handle's `wait`."""
        return await AsyncTemplateHandle(self.client, self.id, name=self.ref).wait(timeout, **options)

    async def release(self) -> None:
        """Give the declared width back, once. An error is logged: a width nobody uses decays by itself."""
        if not self._releasable:
            return
        self._releasable = False
        try:
            await self.client.release_template(self.id)
        except CollimateError as error:
            log.warning("the width of %s could not be released: %s", self.ref, error)


async def open_env(
    client: AsyncGatewayClient,
    ref: str,
    *,
    width: int | None = None,
    name: str | None = None,
    ready: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    secrets: Sequence[str] | None = None,
) -> AsyncEnv:
    """The env of `ref`.

    A catalog image is used as it is, and `width` is only a hint; with `ready` or `env` a template of one's own is baked
    from it under `name` (or `ref`). For one's own template `width` is declared, and released at the end; changing its
    `ready` or `env` is refused, because that is another template: bake it.
    """
    overrides = bool(ready) or bool(env)
    row = await find(client, ref)
    template_id = (text(row, "id") or ref) if row else ref
    if row is not None and row.get("visibility") == "public":
        if not overrides:
            return AsyncEnv(client, template_id, ref=ref, secret_refs=secrets)
        reply = await client.create_template(
            name=name or ref,
            image=text(row, "image"),
            ready=ready,
            env=env,
            width=1 if width is None else width,
            expected_width=width,
        )
        return AsyncEnv(client, text(reply, "id"), ref=ref, releasable=True, secret_refs=secrets)
    if overrides:
        raise GatewayError(
            f"{ref} is no catalog image: ready= and env= belong to a template of its own; bake it with Template.bake",
            code="bad_request",
        )
    if width is not None:
        await client.expect_width(template_id, width)
    return AsyncEnv(client, template_id, ref=ref, releasable=width is not None, secret_refs=secrets)


async def find(client: AsyncGatewayClient, ref: str) -> JsonObject | None:
    """The row of an image or of one's own template: an id before a name, the catalog before one's own."""
    for rows in (await client.images(), await client.list_templates()):
        for key in ("id", "name"):
            matches = [row for row in rows if text(row, key) == ref]
            if matches:
                # A name may have had several versions: the newest that is live.
                return max(matches, key=lambda row: (row.get("phase") == "Live", text(row, "created_at")))
    return None
