# SPDX-License-Identifier: Apache-2.0
# Generated from ../_async/routes.py by tools/generate_sync.py; edit that file instead.
"""What the parts of the gateway client stand on."""

from __future__ import annotations

from ..json_types import JsonObject, as_object
from ..wire.call import Call
from .http import Http


class Routes:
    """Routes of one server."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def _object(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        return as_object(self._http.send(Call(method, path, body)))
