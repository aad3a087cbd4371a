# SPDX-License-Identifier: Apache-2.0
"""Instants on the wire."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(instant: str | float | datetime) -> str:
    """RFC 3339 text of an instant: text as it is, a datetime (naive: local time), or epoch seconds."""
    if isinstance(instant, str):
        return instant
    if isinstance(instant, datetime):
        return instant.astimezone(UTC).isoformat()
    return datetime.fromtimestamp(instant, UTC).isoformat()
