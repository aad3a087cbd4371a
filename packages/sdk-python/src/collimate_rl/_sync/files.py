# SPDX-License-Identifier: Apache-2.0
# Generated from ../_async/files.py by tools/generate_sync.py; edit that file instead.
"""Whole files into and out of a sandbox, by the file routes of either kind of server."""

from __future__ import annotations

import hashlib
from typing import Any

from ..errors import CollimateTaskError, GatewayError
from ..json_types import as_object, text
from ..wire.call import Call
from ..wire.received import Received
from .http import Http

FILE_TYPE = "application/octet-stream"
HASH_HEADER = "x-content-sha256"
SILENCE = 300.0
"""Seconds without a byte: the server copies the whole file on its side before it answers."""
TOTAL = 3600.0
"""Seconds for one file unless the caller says otherwise; the server's own limit."""
DOWNLOAD_MAX = 4 * 1024**3
"""Largest file that is taken into memory, in bytes. What a sandbox sends is not to be trusted."""


def upload(
    http: Http, route: str, path: str, data: bytes | bytearray | memoryview, timeout_seconds: float | None
) -> None:
    """Write `data` as the file `path`, as a whole; the server checks that what came is what was sent."""
    if not isinstance(data, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance] - for callers without types
        raise TypeError(f"data must be bytes, got {type(data).__name__}")
    digest = hashlib.sha256(data).hexdigest()
    headers = {"Content-Type": FILE_TYPE, HASH_HEADER: digest}
    view = memoryview(data).cast("B")
    reply = as_object(transfer(http, "PUT", route, path, timeout_seconds, content=view, more_headers=headers))
    if text(reply, "sha256") != digest:
        raise CollimateTaskError(f"the server's answer to the upload of {path} does not confirm its bytes")


def download(http: Http, route: str, path: str, timeout_seconds: float | None) -> bytes:
    """The bytes of the file `path`."""
    received = transfer(http, "GET", route, path, timeout_seconds, bytes_max=DOWNLOAD_MAX)
    if not isinstance(received, Received):
        raise TypeError("a call for bytes gave something else")
    announced = received.headers.get(HASH_HEADER)
    if announced is not None and hashlib.sha256(received.content).hexdigest() != announced:
        raise CollimateTaskError(f"the bytes that came of {path} are not those that the server announced")
    return received.content


def transfer(http: Http, method: str, route: str, path: str, timeout_seconds: float | None, **more: Any) -> object:
    """One call. What is wrong with the file, and not with the way to it, is a `CollimateTaskError`."""
    if not path.startswith("/"):
        raise ValueError(f"path must be absolute, got {path!r}")
    if timeout_seconds is not None and not timeout_seconds > 0:
        raise ValueError(f"timeout_seconds must be above 0, got {timeout_seconds!r}; leave it out for the default")
    total = TOTAL if timeout_seconds is None else timeout_seconds
    call = Call(
        method, route, query={"path": path}, timeout=min(max(http.timeout, SILENCE), total), total=total, **more
    )
    try:
        return http.send(call)
    except GatewayError as error:
        if not error.path:
            raise
        raise CollimateTaskError(
            error.message, status=error.http_status, error_code=error.error_code, request_id=error.request_id, path=path
        ) from error
