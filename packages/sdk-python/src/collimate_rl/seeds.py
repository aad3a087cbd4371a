# SPDX-License-Identifier: Apache-2.0
"""Seeds: 64 hex digits that fix a sandbox's randomness, and how a group of children gets theirs."""

from __future__ import annotations

import hashlib
import secrets
from typing import Literal, TypeGuard, get_args

SeedMode = Literal["vanilla", "crn", "deterministic"]
MODES: tuple[str, ...] = get_args(SeedMode)
DET_SEED = "deadbeef" * 8
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


def fresh_seed() -> str:
    """32 bytes of the operating system's randomness, as lowercase hex."""
    return secrets.token_hex(32)


def is_valid_seed(value: object) -> TypeGuard[str]:
    """Whether `value` is a str of exactly 64 hex digits, in either case."""
    return isinstance(value, str) and len(value) == 64 and _HEX_DIGITS.issuperset(value)


def check_seed(value: str) -> str:
    """`value`, or ValueError."""
    if not is_valid_seed(value):
        raise ValueError(f"a seed is exactly 64 hexadecimal digits, got {value!r}")
    return value


def seed_from_key(key: str, salt: str = "") -> str:
    """The seed that belongs to a key (a problem id, a prompt): SHA-256 of salt, one NUL, key."""
    return hashlib.sha256(f"{salt}\0{key}".encode()).hexdigest()


def step_seed(seed: str, step: int) -> str:
    """The seed of a sandbox's `step`-th exec: the seed itself first, then one derived from it and the step.

    The same for every child with the same seed, so common random numbers hold step by step, but no step repeats
    the randomness of the one before it.
    """
    return seed if step == 0 else seed_from_key(f"step:{step}", salt=seed)


def group_seeds(n: int, mode: str = "crn", base_seed: str | None = None) -> list[str | None]:
    """One seed per child.

    `vanilla`: none, each child draws on its own. `crn` (common random numbers): all children the same, `base_seed` or one
    fresh seed, so that rewards differ only by what the candidates do. `deterministic`: `base_seed` or `DET_SEED`.
    """
    if n < 0:
        raise ValueError(f"n must be 0 or more, got {n}")
    if mode not in MODES:
        raise ValueError(f"seed mode must be one of {', '.join(MODES)}, got {mode!r}")
    if base_seed is not None:
        check_seed(base_seed)
    if mode == "vanilla":
        return [None] * n
    return [base_seed or (fresh_seed() if mode == "crn" else DET_SEED)] * n
