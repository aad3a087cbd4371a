# SPDX-License-Identifier: Apache-2.0
"""How far a template is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .json_types import JsonObject, as_rows, number, text

PHASES = ("Pending", "Converting", "Distributing", "Live")


@dataclass
class TemplateStatus:
    """One look at a template. `phase` is one of Pending, Converting, Distributing, Live, Failed."""

    id: str
    name: str
    image: str
    phase: str
    declared: int
    warm: int
    frozen: int
    per_node: list[JsonObject]
    converge_state: str
    bake_mode: str
    raw: JsonObject = field(repr=False)
    error: str = ""
    build_fails: int = 0

    @property
    def total(self) -> int:
        """Prepared sandboxes, hot and frozen."""
        return self.warm + self.frozen

    @property
    def converged(self) -> bool:
        """Whether the template is ready to be used at its declared width."""
        return self.converge_state == "converged"

    @property
    def failed(self) -> bool:
        return self.phase == "Failed"

    @property
    def phase_rank(self) -> int:
        """0 (Pending, Failed or an unknown word) to 3 (Live)."""
        return PHASES.index(self.phase) if self.phase in PHASES else 0

    @classmethod
    def from_response(cls, reply: Mapping[str, Any]) -> TemplateStatus:
        return cls(
            id=text(reply, "id"),
            name=text(reply, "name"),
            image=text(reply, "image"),
            phase=text(reply, "phase") or "Pending",
            declared=int(number(reply, "declared", 0)),
            warm=int(number(reply, "warm", 0)),
            frozen=int(number(reply, "frozen", 0)),
            per_node=as_rows(reply.get("per_node")),
            converge_state=text(reply, "converge_state") or "converging",
            bake_mode=text(reply, "bake_mode"),
            error=text(reply, "error"),
            build_fails=int(number(reply, "build_fails", 0)),
            raw=dict(reply),
        )
