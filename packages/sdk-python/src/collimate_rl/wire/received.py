# SPDX-License-Identifier: Apache-2.0
"""An answer that is bytes, not JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Received:
    """`headers` by lower-case name."""

    content: bytes
    headers: Mapping[str, str]
