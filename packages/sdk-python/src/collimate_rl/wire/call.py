# SPDX-License-Identifier: Apache-2.0
"""One call of the API, before it travels."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import quote

from ..json_types import JsonObject


class Repeat(Enum):
    """What may be done when it is unknown whether the server did what was asked."""

    SAFE = "safe"
    """Send it again: reads, deletes, and changes that the server knows by their idempotency key."""
    UNSEEN = "unseen"
    """Send it again only if the server cannot have read it: an exec changes the interpreter it runs in."""


@dataclass(frozen=True)
class Call:
    """Method, path and body, with one idempotency key for all the times it is sent.

    `timeout` is the longest silence in seconds; None leaves the client's. `total` is the longest time to the whole answer,
    which a server that sends blanks to keep a long exec alive would otherwise stretch without end; no attempt begins after
    it. `content` is sent in
    place of a JSON body. With `bytes_max` the answer is bytes, at most that many, and not JSON.
    """

    method: str
    path: str
    body: JsonObject | None = None
    query: Mapping[str, str] | None = None
    repeat: Repeat = Repeat.SAFE
    timeout: float | None = None
    total: float | None = None
    content: memoryview | None = None
    more_headers: Mapping[str, str] = field(default_factory=dict[str, str])
    bytes_max: int | None = None
    idempotency_key: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def headers(self) -> dict[str, str]:
        key = {"Idempotency-Key": self.idempotency_key} if self.method == "POST" else {}
        length = {} if self.content is None else {"Content-Length": str(len(self.content))}
        return {**key, **length, **self.more_headers}


def segment(value: str) -> str:
    """An id or name as one path segment, whatever it holds."""
    if not value or value in {".", ".."}:
        raise ValueError(f"not an id: {value!r}")
    return quote(value, safe="")


def check_id(value: object, what: str) -> str:
    """An id out of a reply, or ValueError."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{what}: expected an id, got {value!r}")
    return value
