# SPDX-License-Identifier: Apache-2.0
"""What one exec gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .json_types import JsonObject, number, text


@dataclass
class ExecResult:
    """Output and end of one exec. A non-zero exit, a time-out or a kill is a result, not an exception.

    Times are milliseconds, -1 where the server did not say. `signal` is the number that ended the command, or 0.
    `truncated` says that output was cut at the server's cap. `raw` is the whole reply.
    """

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    fork_time_ms: float = -1
    exec_time_ms: float = -1
    total_time_ms: float = -1
    seed: str | None = None
    seed_ack: str | None = None
    timed_out: bool = False
    oom_killed: bool = False
    signal: int = 0
    truncated: bool = False
    raw: JsonObject = field(default_factory=dict[str, Any], repr=False)

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.exit_code == 0

    @classmethod
    def from_response(cls, reply: Mapping[str, Any]) -> ExecResult:
        return cls(
            stdout=text(reply, "stdout"),
            stderr=text(reply, "stderr"),
            # A reply without an exit code must never look like success.
            exit_code=int(number(reply, "exit_code", -1)),
            fork_time_ms=number(reply, "fork_time_ms", -1),
            exec_time_ms=number(reply, "exec_time_ms", -1),
            total_time_ms=number(reply, "total_time_ms", -1),
            seed=text(reply, "seed") or None,
            seed_ack=text(reply, "seed_ack") or None,
            timed_out=reply.get("timed_out") is True,
            oom_killed=reply.get("oom_killed") is True,
            signal=int(number(reply, "signal", 0)),
            truncated=reply.get("truncated") is True,
            raw=dict(reply),
        )
