# SPDX-License-Identifier: Apache-2.0
"""Other processes, by their kinship and by their end."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs."""
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, children.read_text().split()):
                found += [child, *descendants(child)]
    return found


def ended(pidfd: int, timeout: float = 20) -> bool:
    """Whether a process ends in time. One that does not is killed, so that a failing test leaves none either."""
    try:
        if select.select([pidfd], [], [], timeout)[0]:
            return True
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        return False
    finally:
        os.close(pidfd)
