# SPDX-License-Identifier: Apache-2.0
"""A template says whether its sandboxes have a network; children have what the parent has."""

from __future__ import annotations

import pytest
from collimate_rl import GatewayClient, Ready, Template, TemplateHandle
from conftest import Wire

DEVICES = "print(sorted(line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line))"
ROUTED = "print(any(line.split()[1] == '00000000' for line in list(open('/proc/net/route'))[1:]))"


@pytest.fixture(scope="module")
def networked(client: GatewayClient, image: str) -> TemplateHandle:
    handle = Template.bake(client, name="e2e-network", image=image, ready=Ready(cmd="true", network=True, ports=[8080]), width=2)
    assert handle.wait(timeout=300).phase == "Live"
    return handle


def refused(host: str) -> str:
    return (
        f"import socket\ntry:\n  socket.create_connection(('{host}', 80), timeout=10); print('open')\n"
        "except OSError as error: print(type(error).__name__)"
    )


def test_a_declared_network_is_there_and_is_inherited(client: GatewayClient, networked: TemplateHandle) -> None:
    with client.session(networked) as session:
        before = session.exec(code=DEVICES)
        assert before.stdout == "['eth0', 'lo']\n", before
        assert session.exec(code=ROUTED).stdout == "True\n"
        with session.fork_group(3) as group:
            assert [r.stdout for r in group.exec_each(code=DEVICES)] == ["['eth0', 'lo']\n"] * 3
            assert [r.stdout for r in group.exec_each(code=ROUTED)] == ["True\n"] * 3
            for host in ("169.254.169.254", "10.1.2.3", "192.168.1.1", "169.254.1.1"):
                assert [r.stdout for r in group.exec_each(code=refused(host))] == ["ConnectionRefusedError\n"] * 3


def test_without_one_there_is_loopback(client: GatewayClient, template: TemplateHandle) -> None:
    with client.session(template) as session:
        assert session.exec(code=DEVICES).stdout == "['lo']\n"


def test_a_policy_of_none_takes_it_away_and_suspend_keeps_that(client: GatewayClient, wire: Wire, networked: TemplateHandle) -> None:
    with client.session(networked, egress={"mode": "none"}) as session:
        assert session.exec(code=DEVICES).stdout == "['lo']\n"
        with session.fork_group(2) as group:
            assert [r.stdout for r in group.exec_each(code=DEVICES)] == ["['lo']\n"] * 2
        for verb in ("suspend", "resume"):
            assert wire("POST", f"/v1/sandboxes/{session.id}/{verb}").status == 200
        assert session.exec(code=DEVICES).stdout == "['lo']\n"


def test_suspend_and_resume_bring_it_back(client: GatewayClient, wire: Wire, networked: TemplateHandle) -> None:
    with client.session(networked) as session:
        for verb in ("suspend", "resume"):
            assert wire("POST", f"/v1/sandboxes/{session.id}/{verb}").status == 200
        assert session.exec(code=DEVICES).stdout == "['eth0', 'lo']\n"
        assert session.exec(code=ROUTED).stdout == "True\n"


def test_a_policy_that_nobody_enforces_is_refused(wire: Wire, networked: TemplateHandle) -> None:
    answer = wire("POST", "/v1/sandboxes", {"template": networked.id, "egress": {"allow": ["example.org"]}})
    assert (answer.status, answer.body["code"]) == (501, "not_implemented")
