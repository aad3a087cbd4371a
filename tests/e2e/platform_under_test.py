# SPDX-License-Identifier: Apache-2.0
"""The platform that these tests run against: started for them by the same command that a user types, stopped after them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(os.environ.get("COLLIMATE_TOOLS", "/var/cache/collimate"))

# `collimate test --full`: the counts that take long. The only place that reads its variable in Python.
FULL = os.environ.get("COLLIMATE_TEST_FULL") == "1"


def often(normally: int, in_full: int) -> int:
    return in_full if FULL else normally


@dataclass(frozen=True)
class Platform:
    url: str
    api_key: str
    registry: str
    state: Path

    def cli(self, *argv: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return run([str(ROOT / "collimate"), *argv], self.state, timeout)

    def part(self, name: str) -> dict[str, object]:
        parts = json.loads(self.cli("status", "--json").stdout)["parts"]
        return next(part for part in parts if part["name"] == name)

    def pid_of(self, name: str) -> int:
        pid = self.part(name)["pid"]
        assert isinstance(pid, int)
        return pid

    def tenant(self, name: str, tier: str = "pro") -> str:
        """A new tenant; its API key."""
        made = self.cli("tenant", "create", name, "--tier", tier)
        assert made.returncode == 0, made.stderr
        key = json.loads(made.stdout)["apiKey"]
        assert isinstance(key, str)
        return key


def run(argv: list[str], state: Path, timeout: float) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "COLLIMATE_STATE": str(state), "COLLIMATE_PROFILE": str(state / "client.json"), "COLLIMATE_TOOLS": str(TOOLS)}
    return subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False, env=env, stdin=subprocess.DEVNULL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert isinstance(port, int)
    return port


@contextmanager
def platform_up() -> Iterator[Platform]:
    # Unix sockets lie below it: their paths are short by decree of the kernel.
    state = Path(tempfile.mkdtemp(prefix="collimate-e2e-", dir="/var/tmp"))
    try:
        # Not the default port: a platform that somebody uses may run on this machine.
        up = run([str(ROOT / "collimate"), "up", "--json", "--port", str(free_port())], state, 900)
        assert up.returncode == 0, up.stderr
        told = json.loads(up.stdout.strip().splitlines()[-1])
        parts = json.loads(run([str(ROOT / "collimate"), "status", "--json"], state, 60).stdout)["parts"]
        registry = next(part for part in parts if part["name"] == "registry")
        yield Platform(told["url"], told["apiKey"], f"127.0.0.1:{registry['port']}", state)
    finally:
        down = run([str(ROOT / "collimate"), "down"], state, 180)
        leaks = run([str(ROOT / "collimate"), "doctor", "--leaks"], state, 60)
        shutil.rmtree(state, ignore_errors=True)
        assert down.returncode == 0, down.stderr
        assert leaks.returncode == 0, leaks.stdout + leaks.stderr


def checked(argv: list[str], timeout: float = 1_800) -> str:
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "COLLIMATE_TOOLS": str(TOOLS)},
    )
    assert done.returncode == 0, f"{argv}: {done.stderr}"
    return done.stdout.strip()


def catalog_image(name: str, registry: str) -> str:
    """Builds the image once per machine, pushes it; its reference by digest."""
    return checked(["/bin/bash", str(ROOT / "infra/images/push.sh"), name, registry]).splitlines()[-1]


def image_of_one_program(name: str, registry: str, architecture: str, program: Path) -> str:
    """An image that holds nothing but one static program: no shell, no interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        layout = f"{folder}/layout"
        checked(["umoci", "init", "--layout", layout])
        checked(["umoci", "new", "--image", f"{layout}:one"])
        checked(["umoci", "insert", "--image", f"{layout}:one", str(program), "/program"])
        checked(["umoci", "config", "--image", f"{layout}:one", "--architecture", architecture, "--os", "linux"])
        checked(
            [
                "skopeo",
                "--insecure-policy",
                "copy",
                "--quiet",
                "--dest-tls-verify=false",
                "--digestfile",
                f"{folder}/digest",
                f"oci:{layout}:one",
                f"docker://{registry}/tests/{name}:1",
            ]
        )
        return f"{registry}/tests/{name}@{Path(folder, 'digest').read_text().strip()}"
