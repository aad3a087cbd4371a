# SPDX-License-Identifier: Apache-2.0
"""Round after round of wide forks: the host has after each what it had before the first."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from collimate_rl import GatewayClient, TemplateHandle
from conftest import eventually, no_leaks
from platform_under_test import Platform, often

ROUNDS = often(2, 20)
WIDTH = often(8, 64)
TMPFS_SLACK_BYTES = 1 << 20


@dataclass(frozen=True)
class Held:
    """What the agent holds of the host."""

    mounts: int
    holders: int
    memory_folder_bytes: int

    @staticmethod
    def now(platform: Platform) -> Held:
        agent = Path("/proc") / str(platform.pid_of("agent"))
        # Its mounts are seen by nobody else: through its own root.
        folder = os.statvfs(f"{agent}/root{platform.state}/agent/memory")
        return Held(
            mounts=len((agent / "mountinfo").read_text().splitlines()),
            holders=len(holders_of(platform)),
            memory_folder_bytes=(folder.f_blocks - folder.f_bfree) * folder.f_frsize,
        )

    def is_like(self, other: Held) -> bool:
        more = self.memory_folder_bytes - other.memory_folder_bytes
        return self.mounts <= other.mounts and self.holders <= other.holders and more <= TMPFS_SLACK_BYTES


def holders_of(platform: Platform) -> list[int]:
    """Processes of the group that all holders of a node share."""
    node = json.loads((platform.state / "secrets.json").read_text())["nodeId"]
    groups = [Path("/sys/fs/cgroup") / root / "collimate" / node / "holders/cgroup.procs" for root in ("pids", "")]
    found = next(group for group in groups if group.exists())
    return [int(pid) for pid in found.read_text().split()]


def one_round(client: GatewayClient, template: TemplateHandle, number: int) -> None:
    with client.session(template) as session:
        assert session.exec(code=f"import numpy as np\nx = np.full(4_000_000, {number})").ok
        with session.fork_group(WIDTH) as group:
            results = group.exec_each(code="x[:1000] += 1; print(int(x[0]), int(x[-1]))")
    assert [r.stdout for r in results] == [f"{number + 1} {number}\n"] * WIDTH


def expect_given_back(platform: Platform, before: Held, what: str) -> None:
    now = Held.now(platform)

    def given_back() -> bool:
        nonlocal now
        now = Held.now(platform)
        return now.is_like(before)

    eventually(given_back, within=30, what=lambda: f"{what} gave back what it took: {before}, now {now}")


def test_rounds_of_wide_forks_leave_nothing(client: GatewayClient, template: TemplateHandle, platform: Platform) -> None:
    one_round(client, template, 0)  # what is made once and kept (slots, the template's holder) is there from now on
    no_leaks(platform)
    before = Held.now(platform)
    for number in range(1, ROUNDS + 1):
        one_round(client, template, number)
        no_leaks(platform)
        expect_given_back(platform, before, f"round {number}")
