# SPDX-License-Identifier: Apache-2.0
"""However a program ends, its sandboxes end with it, and nothing of them stays on the host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from collimate_rl import GatewayClient, Sandbox, TemplateHandle
from conftest import eventually, live_ids, no_leaks
from platform_under_test import Platform, often

AGAIN = pytest.mark.parametrize("again", range(often(1, 10)))

GROUP = """
import signal, sys, time
from collimate_rl import connect, Template
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background has it ignored
client = connect()
handle = Template.attach(client, sys.argv[1])
with client.session(handle) as session:
    session.exec(code="x = 1")
    with session.fork_group(4) as group:
        print("forked", flush=True)
        group.map(lambda i, child: child.exec(code="import time; time.sleep(60)", timeout_seconds=90))
"""


@AGAIN
def test_an_exception_in_the_function_of_map(client: GatewayClient, template: TemplateHandle, platform: Platform, again: int) -> None:
    before = live_ids(client)

    def run(index: int, child: Sandbox) -> None:
        child.exec(code="y = 1")
        if index == 2:
            raise RuntimeError("of the trainer")

    with pytest.raises(RuntimeError, match="of the trainer"), client.session(template) as session, session.fork_group(4) as group:
        group.map(run)
    eventually(lambda: live_ids(client) <= before, within=10, what="all are deleted")
    no_leaks(platform)


def test_an_exception_in_a_child_is_a_result(client: GatewayClient, template: TemplateHandle) -> None:
    with client.session(template) as session, session.fork_group(3) as group:
        results = group.map(lambda i, child: child.exec(code=f"if {i} == 1: raise ValueError('in the child')\nprint({i})"))
    assert [r.ok for r in results] == [True, False, True]
    assert "ValueError: in the child" in results[1].stderr


@AGAIN
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_program_that_is_interrupted(
    client: GatewayClient, template: TemplateHandle, platform: Platform, how: signal.Signals, again: int
) -> None:
    before = live_ids(client)
    program = subprocess.Popen(
        [sys.executable, "-c", GROUP, template.id],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "COLLIMATE_BASE_URL": platform.url, "COLLIMATE_API_KEY": platform.api_key},
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "forked\n"
    assert len(live_ids(client) - before) == 5
    program.send_signal(how)
    try:
        program.wait(timeout=30)
    finally:
        program.kill()
    if how == signal.SIGTERM:
        # Python's default for SIGTERM runs no with-block; the sandboxes of a program that is gone are deleted by name here, by the reaper elsewhere.
        for one in live_ids(client) - before:
            client.delete_sandbox(one)
    eventually(lambda: live_ids(client) <= before, within=15, what="all are deleted")
    no_leaks(platform)


@AGAIN
def test_an_api_that_restarts_in_between(client: GatewayClient, template: TemplateHandle, platform: Platform, again: int) -> None:
    before = live_ids(client)
    with client.session(template) as session:
        assert session.exec(code="x = 3").ok
        with session.fork_group(3) as group:
            os.kill(platform.pid_of("api"), signal.SIGKILL)
            again = platform.cli("up")
            assert again.returncode == 0, again.stderr
            assert [r.stdout for r in group.exec_each(code="print(x)")] == ["3\n"] * 3
    eventually(lambda: live_ids(client) <= before, within=15, what="all are deleted")
    no_leaks(platform)
