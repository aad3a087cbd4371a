# SPDX-License-Identifier: Apache-2.0
"""Run a peer by hand: prints its address and key, serves until its input ends."""

import json
import sys

from peer import Peer

if __name__ == "__main__":
    with Peer() as peer:
        print(json.dumps({"url": peer.url, "apiKey": peer.api_key}), flush=True)
        sys.stdin.read()
