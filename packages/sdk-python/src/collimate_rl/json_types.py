# SPDX-License-Identifier: Apache-2.0
"""JSON as it comes off the wire, and the one border where it becomes typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

JsonObject = dict[str, Any]
"""One decoded JSON object. Replies are handed out raw, so that fields newer than this package stay reachable."""


def as_object(value: object) -> JsonObject:
    """`value` if it is a JSON object, else an empty one."""
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def as_rows(value: object, *keys: str) -> list[JsonObject]:
    """The rows of a list reply: a bare list, or the list under the first of `keys` that holds one."""
    rows: object = value
    if isinstance(value, dict):
        fields = as_object(cast(object, value))
        rows = next((fields[key] for key in keys if isinstance(fields.get(key), list)), None)
    return [as_object(row) for row in cast(list[object], rows)] if isinstance(rows, list) else []


def text(fields: Mapping[str, Any], key: str) -> str:
    """A string field; missing, null or of another type is an empty string."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def number(fields: Mapping[str, Any], key: str, missing: float) -> float:
    """A numeric field; missing, null or of another type is `missing`."""
    value = fields.get(key)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else missing
