# SPDX-License-Identifier: Apache-2.0
"""The body of an exec request, checked before it travels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .errors import SeedNotApplied
from .json_types import JsonObject
from .seeds import check_seed

Files = Iterable[Mapping[str, str]]
"""Text files to write before the command: `[{"path": ..., "content": ...}]`."""


def exec_body(
    *,
    command: str | None,
    code: str | None,
    commands: Sequence[Sequence[str]] | None,
    files: Files | None,
    timeout_seconds: float,
    seed: str | None,
) -> JsonObject:
    """The request body. ValueError when nothing is to run, or a value cannot be right."""
    if command is None and code is None and not commands:
        raise ValueError("give one of command, code or commands")
    if not timeout_seconds > 0:
        raise ValueError(f"timeout_seconds must be above 0, got {timeout_seconds!r}; leave it out for the default")
    whole = float(timeout_seconds).is_integer()
    body: JsonObject = {"timeout_seconds": int(timeout_seconds) if whole else timeout_seconds}
    if command is not None:
        body["command"] = command
    if code is not None:
        body["code"] = code
    if commands:
        body["commands"] = [list(argv) for argv in commands]
    if files:
        body["files"] = [dict(file) for file in files]
    if seed is not None:
        body["seed"] = check_seed(seed)
    return body


def check_seed_applied(reply: Mapping[str, object], seed: str | None) -> None:
    """Raise unless the guest confirmed the seed that was asked for."""
    acknowledged = reply.get("seed_ack")
    if seed is None:
        raise SeedNotApplied("require_seed=True, but no seed was given and the sandbox has no default seed")
    if acknowledged != "verified":
        raise SeedNotApplied(f"the seed was not applied in full: the server says seed_ack={acknowledged!r}")
