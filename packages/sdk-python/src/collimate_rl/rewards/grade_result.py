# SPDX-License-Identifier: Apache-2.0
"""What a candidate was worth, and how its run ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..json_types import JsonObject


@dataclass
class GradeResult:
    """`reward` is 0 to 1. `outcome` tells a wrong answer from other ends: `graded`, `load_error`, `crashed`, `timed_out`,
    `oom_killed`, `no_verdict`, or `infra_error` (the platform failed; `raw["error"]` says how)."""

    reward: float
    seed: str | None = None
    seed_ack: str | None = None
    exit_code: int = 0
    fork_time_ms: float = -1
    exec_time_ms: float = -1
    raw: JsonObject = field(default_factory=dict[str, Any], repr=False)
    infra_error: bool = False
    outcome: str = "graded"
    timed_out: bool = False
    oom_killed: bool = False
    signal: int = 0
