# SPDX-License-Identifier: Apache-2.0
"""Either kind of client: what `connect` gives and a `Sandbox` runs on."""

from __future__ import annotations

from .daemon import AsyncCollimateClient
from .gateway import AsyncGatewayClient

AsyncSessionClient = AsyncCollimateClient | AsyncGatewayClient
