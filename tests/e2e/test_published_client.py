# SPDX-License-Identifier: Apache-2.0
"""The published Python client, unmodified, in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from pathlib import Path

import pytest
from platform_under_test import Platform

PROGRAM = """
import json, sys
import collimate_rl
from collimate_rl import connect, Ready, Template
assert collimate_rl.__version__ == "0.8.0", collimate_rl.__version__
client = connect()
handle = Template.bake(client, name="e2e-numpy", image=sys.argv[1], ready=Ready(cmd="python -c 'import numpy'"), width=8)
status = handle.wait(timeout=300)
with client.session(handle) as session:
    assert session.exec(code="import numpy\\nx = 20").ok
    group = session.fork_group(6)
    with group:
        first = group.exec_each(code="print(x + 1)")
        second = group.map(lambda i, child: child.exec(command=f"echo {i}; exit {i}", timeout_seconds=20))
        group[0].upload_bytes("/tmp/up", bytes(range(256)) * 4096)
        same = group[0].download("/tmp/up") == bytes(range(256)) * 4096
with client.env("e2e-numpy", width=4) as env, env.sandbox() as sandbox:
    by_name = sandbox.exec(command="echo by name").stdout
print(json.dumps({
    "phase": status.phase, "converged": status.converged,
    "first": [r.stdout for r in first], "codes": [r.exit_code for r in second], "same": same, "by_name": by_name,
    "usage": client.usage()["totals"], "left": len(client.list_sandboxes()),
}))
"""


@pytest.mark.usefixtures("template")
def test_bakes_forks_grades_and_leaves_nothing(platform: Platform, image: str, tmp_path: Path) -> None:
    venv.create(tmp_path / "published", with_pip=True)
    python = str(tmp_path / "published/bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "collimate-rl==0.8.0"], check=True, timeout=300)
    env = {**os.environ, "COLLIMATE_BASE_URL": platform.url, "COLLIMATE_API_KEY": platform.api_key}
    done = subprocess.run([python, "-c", PROGRAM, image], capture_output=True, text=True, timeout=300, check=False, env=env)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["phase"] == "Live"
    assert told["converged"] is True
    assert told["first"] == ["21\n"] * 6
    assert told["codes"] == list(range(6))
    assert told["same"] is True
    assert told["by_name"] == "by name\n"
    assert told["usage"]["live_seconds"] > 0
    assert told["left"] == 0
