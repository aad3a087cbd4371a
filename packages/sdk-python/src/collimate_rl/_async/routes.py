# SPDX-License-Identifier: Apache-2.0
"""What the parts of the gateway client stand on."""

from __future__ import annotations

from ..json_types import JsonObject, as_object
from ..wire.call import Call
from .http import AsyncHttp


class AsyncRoutes:
    """Routes of one server."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def _object(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        return as_object(await self._http.send(Call(method, path, body)))
