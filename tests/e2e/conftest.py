# SPDX-License-Identifier: Apache-2.0
"""Fixtures over a running platform: real images, real forks. `./collimate test` starts it and sets the environment."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from collimate_rl import GatewayClient, Ready, Template, TemplateHandle, connect

ROOT = Path(__file__).resolve().parents[2]


def needed(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        pytest.exit(f"{name} is not set: these tests run under ./collimate test", returncode=2)
    return value


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: dict[str, str]


@dataclass(frozen=True)
class Wire:
    """The bare wire, for what a client would not send."""

    base: str
    key: str

    def __call__(
        self, method: str, path: str, body: object = None, *, key: str | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        request.add_header("Authorization", f"Bearer {self.key if key is None else key}")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=150) as reply:
                return Answer(reply.status, json.loads(reply.read() or b"{}"), dict(reply.headers))
        except urllib.error.HTTPError as error:
            return Answer(error.code, json.loads(error.read() or b"{}"), dict(error.headers))


@pytest.fixture(scope="session")
def wire() -> Wire:
    return Wire(needed("COLLIMATE_BASE_URL"), needed("COLLIMATE_API_KEY"))


@pytest.fixture(scope="session")
def image() -> str:
    """A small real image, by digest: Debian with python3 and numpy."""
    return needed("COLLIMATE_TEST_IMAGE")


@pytest.fixture(scope="session")
def client() -> GatewayClient:
    made = connect(needed("COLLIMATE_BASE_URL"), api_key=needed("COLLIMATE_API_KEY"))
    assert isinstance(made, GatewayClient)
    return made


@pytest.fixture(scope="session")
def template(client: GatewayClient, image: str) -> TemplateHandle:
    handle = Template.bake(client, name="e2e-numpy", image=image, ready=Ready(cmd="python -c 'import numpy'"), width=8)
    status = handle.wait(timeout=300)
    assert status.phase == "Live"
    return handle


@pytest.fixture
def fresh_name() -> str:
    return f"e2e-{uuid.uuid4().hex[:12]}"


def run_cli(*argv: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(ROOT / "collimate"), *argv], capture_output=True, text=True, timeout=timeout, check=False)


@pytest.fixture(scope="session")
def cli() -> Callable[..., subprocess.CompletedProcess[str]]:
    return run_cli


def eventually(check: Callable[[], bool], *, within: float, what: str) -> None:
    """Waits for an outside event that nobody announces."""
    until = time.monotonic() + within
    while not check():
        if time.monotonic() > until:
            pytest.fail(f"not within {within} s: {what}")
        time.sleep(0.05)


def live_ids(client: GatewayClient) -> set[str]:
    return {row["id"] for row in client.list_sandboxes()}


@pytest.fixture(autouse=True)
def nothing_left(client: GatewayClient) -> Iterator[None]:
    """Every test gives back what it took: no sandbox of it lives on."""
    before = live_ids(client)
    yield
    eventually(lambda: live_ids(client) <= before, within=15, what="all sandboxes of this test are deleted")
