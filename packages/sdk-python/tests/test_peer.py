# SPDX-License-Identifier: Apache-2.0
"""The peer of these tests leaves nothing behind, however it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

from collimate_rl import GatewayClient
from peer import Peer, ended

PEER = Path(__file__).with_name("serve_peer.py")
OWN_PID = "import os; print(os.getpid())"
STRAY = (
    "import subprocess, sys\n"
    "stray = subprocess.Popen([sys.executable, '-c', 'while True: pass'], start_new_session=True)\n"
    "print(stray.pid)"
)


def test_a_sandbox_and_its_children_end_with_a_peer_that_is_killed():
    with subprocess.Popen(
        [sys.executable, str(PEER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as peer:
        assert peer.stdout is not None
        address = json.loads(peer.stdout.readline())
        with GatewayClient(address["apiKey"], address["url"]) as client:
            session = client.session("tpl_any").open()
            family = [session, *session.fork_group(2)]
            pids = [os.pidfd_open(int(member.exec(code=OWN_PID).stdout)) for member in family]
        peer.kill()
    assert [ended(pid) for pid in pids] == [True, True, True]


def test_a_closed_peer_leaves_no_process_that_has_left_the_group_of_its_sandbox():
    with Peer() as peer, GatewayClient(peer.api_key, peer.url) as client:
        stray = os.pidfd_open(int(client.session("tpl_any").open().exec(code=STRAY).stdout))
    assert ended(stray)
