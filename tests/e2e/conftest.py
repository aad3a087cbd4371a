# SPDX-License-Identifier: Apache-2.0
"""Fixtures over a running platform: real images, real forks. `./collimate test` starts it and sets the environment."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from collimate_rl import GatewayClient, Ready, Template, TemplateHandle, connect
from platform_under_test import TOOLS, Platform, catalog_image, image_of_one_program, platform_up


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
def platform() -> Iterator[Platform]:
    with platform_up() as running:
        yield running


@pytest.fixture(scope="session")
def wire(platform: Platform) -> Wire:
    return Wire(platform.url, platform.api_key)


@pytest.fixture(scope="session")
def image(platform: Platform) -> str:
    """A small real image, by digest: Debian with python3 and numpy."""
    return catalog_image("python", platform.registry)


@pytest.fixture(scope="session")
def foreign_image(platform: Platform) -> str:
    """An image for another architecture."""
    return image_of_one_program("foreign", platform.registry, "arm64", TOOLS / "guest/collimate-init")


@pytest.fixture(scope="session")
def shellless_image(platform: Platform) -> str:
    return image_of_one_program("shellless", platform.registry, "amd64", TOOLS / "guest/collimate-init")


def client_for(platform: Platform, key: str) -> GatewayClient:
    made = connect(platform.url, api_key=key)
    assert isinstance(made, GatewayClient)
    return made


@pytest.fixture(scope="session")
def client(platform: Platform) -> GatewayClient:
    return client_for(platform, platform.api_key)


@pytest.fixture(scope="session")
def other_key(platform: Platform) -> str:
    """The key of another tenant."""
    return platform.tenant("other")


def bake_numpy(client: GatewayClient, image: str) -> TemplateHandle:
    handle = Template.bake(client, name="e2e-numpy", image=image, ready=Ready(cmd="python -c 'import numpy'"), width=8)
    assert handle.wait(timeout=300).phase == "Live"
    return handle


@pytest.fixture(scope="session")
def template(client: GatewayClient, image: str) -> TemplateHandle:
    return bake_numpy(client, image)


@pytest.fixture(scope="session")
def meter_client(platform: Platform) -> GatewayClient:
    """A tenant whose sandboxes nobody else makes."""
    return client_for(platform, platform.tenant("metered"))


@pytest.fixture(scope="session")
def meter_template(meter_client: GatewayClient, image: str) -> TemplateHandle:
    return bake_numpy(meter_client, image)


@pytest.fixture
def fresh_name() -> str:
    return f"e2e-{uuid.uuid4().hex[:12]}"


def eventually(check: Callable[[], bool], *, within: float, what: str | Callable[[], str]) -> None:
    """Waits for an outside event that nobody announces."""
    until = time.monotonic() + within
    while not check():
        if time.monotonic() > until:
            pytest.fail(f"not within {within} s: {what() if callable(what) else what}")
        time.sleep(0.05)


def live_ids(client: GatewayClient) -> set[str]:
    return {row["id"] for row in client.list_sandboxes()}


def no_leaks(platform: Platform) -> None:
    found = ""

    def clean() -> bool:
        nonlocal found
        looked = platform.cli("doctor", "--leaks")
        found = looked.stdout
        return looked.returncode == 0

    eventually(clean, within=20, what=lambda: f"no leaks\n{found}")


@pytest.fixture(autouse=True)
def nothing_left(client: GatewayClient) -> Iterator[None]:
    """Every test gives back what it took: no sandbox of it lives on."""
    before = live_ids(client)
    yield
    eventually(lambda: live_ids(client) <= before, within=15, what="all sandboxes of this test are deleted")
