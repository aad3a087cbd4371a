# SPDX-License-Identifier: Apache-2.0
# Generated from ../_async/session_client.py by tools/generate_sync.py; edit that file instead.
"""Either kind of client: what `connect` gives and a `Sandbox` runs on."""

from __future__ import annotations

from .daemon import CollimateClient
from .gateway import GatewayClient

SessionClient = CollimateClient | GatewayClient
