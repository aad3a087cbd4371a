# SPDX-License-Identifier: Apache-2.0
"""A verdict on its way out of a sandbox: a line under a signature that the candidate cannot know."""

from __future__ import annotations

import hmac
import math
import secrets
from dataclasses import dataclass

MARK = "COLLIMATE-VERDICT"
NO_VERDICT = "no_verdict"


@dataclass(frozen=True)
class Verdict:
    reward: float
    outcome: str
    signal: int = 0


class Signer:
    """Signs one program after the other, each with a nonce of its own; keeps nothing per program."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def new_signature(self) -> str:
        nonce = secrets.token_hex(16)
        return f"{MARK} {nonce} {self._mac(nonce)}"

    def read(self, stdout: str) -> Verdict:
        """The signed verdict in a program's output; no verdict is worth 0."""
        for line in reversed(stdout.splitlines()):
            words = line.split(" ")
            if (
                len(words) != 6
                or words[0] != MARK
                or not hmac.compare_digest(words[2].encode(), self._mac(words[1]).encode())
            ):
                continue
            try:
                reward, number = float(words[3]), int(words[5])
            except ValueError:
                continue
            return Verdict(clamped(reward), words[4], number)
        return Verdict(0.0, NO_VERDICT)

    def _mac(self, nonce: str) -> str:
        return hmac.new(self._secret, nonce.encode(), "sha256").hexdigest()


def clamped(reward: float) -> float:
    """Within 0 and 1; anything not finite is 0."""
    return min(1.0, max(0.0, reward)) if math.isfinite(reward) else 0.0
