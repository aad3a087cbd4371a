# SPDX-License-Identifier: Apache-2.0
"""A small real server of the wire contract for tests: HTTP over TCP, sandboxes that are processes, forks by os.fork."""

from .faults import Drop, Fault, Reply, Stall
from .processes import ended
from .server import Peer

__all__ = ["Drop", "Fault", "Peer", "Reply", "Stall", "ended"]
