# SPDX-License-Identifier: Apache-2.0
"""Which server `connect` speaks to: decided here, without touching the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from .constants import DAEMON_URL, GATEWAY_URL, NODE_SOCKET
from .profile import Profile

Surface = Literal["gateway", "daemon"]


@dataclass(frozen=True)
class GatewayTarget:
    url: str
    api_key: str


@dataclass(frozen=True)
class DaemonTarget:
    url: str = DAEMON_URL
    unix_socket: str | None = None


Target = GatewayTarget | DaemonTarget


def choose_target(
    base_url: str | None,
    api_key: str | None,
    unix_socket: str | None,
    surface: Surface | None,
    *,
    env: Mapping[str, str],
    profile: Callable[[], Profile | None],
    exists: Callable[[str], bool],
) -> Target:
    """The first that applies:

    1. `unix_socket`: a daemon. 2. `api_key`: a gateway at `base_url`, else COLLIMATE_BASE_URL, else the public one.
    3. `base_url`: a gateway if a key for it is in scope (COLLIMATE_API_KEY, or the profile of that address), else a
    daemon. 4. COLLIMATE_SERVE_SOCKET: a daemon. 5. COLLIMATE_API_KEY: a gateway. 6. COLLIMATE_SERVE_URL: a daemon.
    7. The profile that `collimate up` writes: its gateway. 8. The node's socket, if it is there. 9. The loopback daemon.

    `surface` leaves only the steps of that kind. An empty variable counts as unset.
    """
    gateway, daemon = surface != "daemon", surface != "gateway"
    key, url = env.get("COLLIMATE_API_KEY") or None, env.get("COLLIMATE_BASE_URL") or None
    if unix_socket and daemon:
        return DaemonTarget(unix_socket=unix_socket)
    if api_key and gateway:
        return GatewayTarget(base_url or url or GATEWAY_URL, api_key)
    if base_url:
        found = key or _key_of(profile(), base_url) if gateway else None
        if found:
            return GatewayTarget(base_url, found)
        return DaemonTarget(base_url) if daemon else _no_key(base_url)
    if daemon and (socket := env.get("COLLIMATE_SERVE_SOCKET")):
        return DaemonTarget(unix_socket=socket)
    if gateway and key:
        return GatewayTarget(url or GATEWAY_URL, key)
    if daemon and (serve_url := env.get("COLLIMATE_SERVE_URL")):
        return DaemonTarget(serve_url)
    if gateway and (local := profile()) is not None and url in (None, local.url):
        return GatewayTarget(local.url, local.api_key)
    if not daemon:
        return _no_key(url or GATEWAY_URL)
    return DaemonTarget(unix_socket=NODE_SOCKET) if exists(NODE_SOCKET) else DaemonTarget()


def _key_of(profile: Profile | None, url: str) -> str | None:
    """A profile's key goes to the profile's own address and to no other."""
    return profile.api_key if profile is not None and profile.url == url.rstrip("/") else None


def _no_key(url: str) -> Target:
    raise ValueError(f"no API key for {url}: pass api_key=, set COLLIMATE_API_KEY, or run `collimate up`")
