# SPDX-License-Identifier: Apache-2.0
"""From an answer's status, headers and bytes to a value or an error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ..errors import GatewayError, TransportError, error_class
from ..json_types import JsonObject, as_object, text

ANSWER_MAX = 256 * 1024 * 1024
"""Largest answer that is read, in bytes: 16 MiB on each stream of an exec, escaped in the worst way, fit twice over."""


def parse_answer(status: int, reason: str, headers: Mapping[str, str], content: bytes, *, prefix: bool) -> object:
    """The decoded body of a 2xx answer; every other raises its error. An empty 2xx body is an empty object."""
    if 200 <= status < 300:
        if not content.strip():
            return {}
        try:
            return json.loads(content)
        except ValueError as cause:
            shown = content[:80].decode("utf-8", "replace")
            raise TransportError(f"HTTP {status}: the answer is not JSON: {shown!r}") from cause
    raise answered_error(status, reason, headers, content, prefix=prefix)


def answered_error(
    status: int, reason: str, headers: Mapping[str, str], content: bytes, *, prefix: bool
) -> GatewayError:
    """The error that an answer tells of. `prefix`: begin the message with the status, as the daemon client always did."""
    try:
        body = as_object(json.loads(content))
    except ValueError:
        body: JsonObject = {}
    message = text(body, "message") or text(body, "error")
    code = (text(body, "code") or text(body, "error_code")) or None
    if not message:
        message = f"HTTP {status}: {reason}"
    elif prefix:
        message = f"HTTP {status}: {message}"
    retryable = body.get("retryable")
    return error_class(status, code)(
        message,
        status,
        code,
        hint=text(body, "hint"),
        retryable=retryable if isinstance(retryable, bool) else None,
        retry_after=retry_after_seconds(headers.get("retry-after")),
        request_id=text(body, "request_id") or headers.get("x-request-id", ""),
        doc_url=text(body, "doc_url"),
        detail=text(body, "detail"),
        path=text(body, "path"),
    )


def retry_after_seconds(value: str | None, now: datetime | None = None) -> float | None:
    """`Retry-After` in seconds from now (RFC 9110, 10.2.3: seconds or an HTTP date); None if absent or unreadable."""
    if not value:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, (then - (now or datetime.now(UTC))).total_seconds())
