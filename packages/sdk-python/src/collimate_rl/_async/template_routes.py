# SPDX-License-Identifier: Apache-2.0
"""The gateway's routes for templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..json_types import JsonObject, as_rows
from ..ready import merged_ready
from ..wire.call import Call, segment
from .routes import AsyncRoutes


class AsyncTemplateRoutes(AsyncRoutes):
    """Bake, look, declare widths."""

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
