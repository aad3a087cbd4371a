# SPDX-License-Identifier: Apache-2.0
"""Where most programs begin."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..profile import read_profile
from ..target import GatewayTarget, Surface, choose_target
from .daemon import AsyncCollimateClient
from .gateway import AsyncGatewayClient
from .session_client import AsyncSessionClient


def connect_async(
    base_url: str | None = None,
    *,
    api_key: str | None = None,
    unix_socket: str | None = None,
    surface: Surface | None = None,
    **options: Any,
) -> AsyncSessionClient:
    """A client of the platform that the arguments, the environment or `collimate up`'s profile name.

    A key in scope means a gateway (`AsyncGatewayClient`), a socket a daemon (`AsyncCollimateClient`); `choose_target` has
    the whole order. `surface="gateway"` or `"daemon"` insists on one kind. `options` go to the client. Nothing is sent yet.
    """
    env = os.environ
    target = choose_target(
        base_url,
        api_key,
        unix_socket,
        surface,
        env=env,
        profile=lambda: read_profile(env, Path.home()),
        exists=lambda path: Path(path).exists(),
    )
    if isinstance(target, GatewayTarget):
        return AsyncGatewayClient(target.api_key, target.url, **options)
    return AsyncCollimateClient(target.url, unix_socket=target.unix_socket, **options)
