# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with one request, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reply:
    """Answer this instead of doing anything."""

    status: int
    body: Mapping[str, Any] | str = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Drop:
    """Close the connection: before anything is done, or when all is done and `sent` bytes of the answer are out."""

    when: str = "before"
    sent: int = 0


@dataclass(frozen=True)
class Stall:
    """Do it, then say nothing until the test is over."""


Fault = Reply | Drop | Stall
