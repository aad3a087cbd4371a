# SPDX-License-Identifier: Apache-2.0
"""Addresses and limits that the contract fixes."""

GATEWAY_URL = "https://api.collimate.ai"
DAEMON_URL = "http://127.0.0.1:8080"
NODE_SOCKET = "/run/collimate-session/serve.sock"
CDP_PORT = 9222
CONNECT_URL_MAX_TTL = 3600
WARM_FORK_MS = 1.0
