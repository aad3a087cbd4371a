# SPDX-License-Identifier: Apache-2.0
"""The sandboxes of a peer, and how to speak to one."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from .processes import descendants

PROGRAM = Path(__file__).with_name("sandbox_process.py")


class Sandboxes:
    """Live sandboxes by id. The processes of a family are in one group, and end with us."""

    def __init__(self, folder: Path) -> None:
        self._their_end, self._our_end = os.pipe()
        self._folder = folder
        self._lock = threading.Lock()
        self._roots: list[subprocess.Popen[bytes]] = []
        self.live: dict[str, dict[str, Any]] = {}
        self.deleted: list[str] = []

    def create(self, template: str) -> dict[str, Any]:
        sandbox_id = new_id()
        path = self._folder / sandbox_id
        lifeline = self._their_end
        root = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(path), str(lifeline)], start_new_session=True, pass_fds=(lifeline,)
        )
        with self._lock:
            self._roots.append(root)
        while not path.exists():
            if root.poll() is not None:
                raise RuntimeError("the sandbox process ended")
        return self._note(sandbox_id, template, parent="")

    def fork(self, parent: str, count: int) -> list[dict[str, Any]]:
        ids = [new_id() for _ in range(count)]
        self.ask(parent, {"fork": [str(self._folder / child) for child in ids]}, None)
        return [self._note(child, self.live[parent]["template"], parent) for child in ids]

    def ask(self, sandbox_id: str, request: dict[str, Any], timeout: float | None) -> dict[str, Any]:
        """One request to a sandbox. TimeoutError after `timeout` seconds."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(timeout)
            link.connect(str(self._folder / sandbox_id))
            link.sendall(json.dumps(request).encode() + b"\n")
            with link.makefile("rb") as stream:
                return json.loads(stream.read())

    def delete(self, sandbox_id: str) -> bool:
        with self._lock:
            known = self.live.pop(sandbox_id, None) is not None
            if known:
                self.deleted.append(sandbox_id)
        if known:
            # One that runs a program ends after it, or with the family.
            with suppress(OSError, ValueError):
                self.ask(sandbox_id, {"end": True}, 0.5)
        return known

    def close(self) -> None:
        """Leaves no process, also none that has made itself a group of its own."""
        for root in self._roots:
            for pid in descendants(root.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.killpg(root.pid, signal.SIGKILL)
            root.wait()
        os.close(self._our_end)
        os.close(self._their_end)

    def _note(self, sandbox_id: str, template: str, parent: str) -> dict[str, Any]:
        row = {
            "id": sandbox_id,
            "template": template,
            "parent_id": parent,
            "fork_time_ms": 0.5,
            "create_time_ms": 12.5,
            "endpoints": {"8000": "inside"},
        }
        with self._lock:
            self.live[sandbox_id] = row
        return row


def new_id() -> str:
    return f"sb_{secrets.token_hex(12)}"
