# SPDX-License-Identifier: Apache-2.0
"""Templates: bake one, wait for it, look at it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import NotFoundError, TemplateBakeFailed, TemplateWaitTimeout
from ..json_types import text
from ..ready import Ready
from ..template_status import TemplateStatus
from .concurrency import sleep

if TYPE_CHECKING:
    from .gateway import AsyncGatewayClient

FIRST_LOOKS = 0.05
"""Seconds before the second look; each later wait is half as long again, up to `poll_interval`."""


class AsyncTemplateHandle:
    """A template at the server. `declared` is the width asked for, `bake_mode` how it came to be, once known."""

    def __init__(
        self,
        client: AsyncGatewayClient,
        template_id: str,
        *,
        name: str = "",
        image: str = "",
        declared: int = 0,
        bake_mode: str = "",
    ) -> None:
        self.client = client
        self.id = template_id
        self.name = name
        self.image = image
        self.declared = declared
        self.bake_mode = bake_mode

    async def status(self) -> TemplateStatus:
        """One look. What the server leaves empty is filled in from the bake."""
        status = TemplateStatus.from_response(await self.client.get_template(self.id))
        status.declared = status.declared or self.declared
        status.name = status.name or self.name
        status.image = status.image or self.image
        self.bake_mode = status.bake_mode or self.bake_mode
        return status

    async def wait(
        self,
        timeout: float = 600.0,
        *,
        poll_interval: float = 1.0,
        on_update: Callable[[TemplateStatus], object] | None = None,
        fail_fast: bool = True,
    ) -> TemplateStatus:
        """Look until the template is ready at its width, and return its status.

        `on_update` sees every look. A failed or vanished bake raises `TemplateBakeFailed` with the build error at once,
        unless `fail_fast` is off. Not ready in `timeout` seconds: `TemplateWaitTimeout`, a TimeoutError; the bake goes on.
        """
        give_up_at = time.monotonic() + timeout
        pause = min(FIRST_LOOKS, poll_interval)
        status = TemplateStatus.from_response({"id": self.id, "name": self.name, "image": self.image})
        while True:
            try:
                status = await self.status()
            except NotFoundError as cause:
                if fail_fast:
                    raise TemplateBakeFailed(f"template {self.id} is gone: {cause}", status) from cause
            if on_update is not None:
                on_update(status)
            if status.converged:
                return status
            if fail_fast and status.failed:
                why = status.error or "the server gave no reason"
                raise TemplateBakeFailed(f"baking {status.name or self.id} failed: {why}", status)
            left = give_up_at - time.monotonic()
            if left <= 0:
                raise TemplateWaitTimeout(
                    f"template {status.name or self.id} was not ready within {timeout:g} s (phase {status.phase})",
                    status,
                )
            await sleep(min(pause, left))
            pause = min(poll_interval, pause * 1.5)


class AsyncTemplate:
    """What one does with templates."""

    @staticmethod
    async def bake(
        client: AsyncGatewayClient,
        *,
        name: str,
        image: str,
        ready: Ready | Mapping[str, Any] | None = None,
        width: int,
        cold_fraction: int = 0,
        env: Mapping[str, str] | None = None,
        expected_width: int | None = None,
        resources: Mapping[str, float] | None = None,
    ) -> AsyncTemplateHandle:
        """Boot an image, warm it by its ready check, checkpoint it. Returns at once; `wait` on the handle.

        `width` is how many sandboxes will be wanted at once. `resources`: any of vcpus, memory_mib, disk_mib, pids.
        """
        reply = await client.create_template(
            name=name,
            image=image,
            ready=ready.to_wire() if isinstance(ready, Ready) else ready,
            env=env,
            width=width,
            cold_fraction=cold_fraction,
            expected_width=expected_width,
            resources=resources,
        )
        return AsyncTemplateHandle(
            client,
            text(reply, "id"),
            name=text(reply, "name") or name,
            image=text(reply, "image") or image,
            declared=width,
            bake_mode=text(reply, "bake_mode"),
        )

    @staticmethod
    async def status(client: AsyncGatewayClient, template_id: str) -> TemplateStatus:
        """One look at a template."""
        return TemplateStatus.from_response(await client.get_template(template_id))

    @staticmethod
    async def attach(client: AsyncGatewayClient, template_id: str) -> AsyncTemplateHandle:
        """A handle on a template that exists; nothing is baked."""
        status = await AsyncTemplate.status(client, template_id)
        return AsyncTemplateHandle(
            client,
            status.id or template_id,
            name=status.name,
            image=status.image,
            declared=status.declared,
            bake_mode=status.bake_mode,
        )
