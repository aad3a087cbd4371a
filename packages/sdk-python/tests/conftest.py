# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pytest

from collimate_rl import GatewayClient, Template
from peer import Peer

IMAGE = "registry.test/py@sha256:" + "0" * 64


@pytest.fixture(autouse=True)
def no_platform_in_scope(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """Nothing of the machine that the tests run on may decide where they connect."""
    for name in ("API_KEY", "BASE_URL", "SERVE_SOCKET", "SERVE_URL", "PROFILE"):
        monkeypatch.delenv(f"COLLIMATE_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer() as running:
        yield running


@pytest.fixture
def client(peer: Peer) -> Iterator[GatewayClient]:
    with GatewayClient(peer.api_key, peer.url, backoff=0.01, retry_budget=5) as made:
        yield made


@pytest.fixture
def session(client: GatewayClient) -> Iterator:
    with client.session("tpl_any") as opened:
        yield opened


@pytest.fixture
def template(client: GatewayClient):
    return Template.bake(client, name="mine", image=IMAGE, width=4)
