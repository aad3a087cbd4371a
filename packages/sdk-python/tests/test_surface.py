# SPDX-License-Identifier: Apache-2.0
"""The two faces are the same, and the names of the contract are there."""

import importlib.metadata
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import collimate_rl

ROOT = Path(__file__).resolve().parent.parent
CLASSES = [name.removeprefix("Async") for name in collimate_rl.__all__ if name.startswith("Async")]
CONTRACT = """
connect SessionClient CollimateClient CollimateError CollimateDrainingError GatewayClient GatewayError DemoTierLimit Ready
Template TemplateHandle TemplateStatus TemplateBakeFailed Session Env ForkGroup open_session Sandbox ExecResult
CollimateTaskError rollout_once fresh_seed group_seeds seed_from_key is_valid_seed DET_SEED RewardSpec PropertyReward
UnitTestReward GradeResult grade grade_batch reward_spec_from_ground_truth extract_code
""".split()


def test_the_sync_face_is_what_the_generator_writes():
    done = subprocess.run(
        [sys.executable, "tools/generate_sync.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def members(cls: type) -> dict[str, list[str] | None]:
    """Public members, with their parameters where they have some."""
    return {
        {"aclose": "close"}.get(name, name): list(inspect.signature(member).parameters) if callable(member) else None
        for name, member in inspect.getmembers(cls)
        if not name.startswith("_")
    }


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "SessionClient"])
def test_both_faces_have_the_same_members(name):
    sync, twin = getattr(collimate_rl, name), getattr(collimate_rl, f"Async{name}")
    assert members(sync) == members(twin)
    assert members(sync)


@pytest.mark.parametrize("name", CONTRACT)
def test_every_name_of_the_contract_that_exists_so_far_is_exported(name):
    assert name in collimate_rl.__all__
    assert hasattr(collimate_rl, name)


def test_all_lists_only_what_is_there():
    assert all(hasattr(collimate_rl, name) for name in collimate_rl.__all__)


def test_the_version_is_one():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert collimate_rl.__version__ == project["version"]
    assert project["requires-python"] == ">=3.11"
    assert [entry.partition(">")[0] for entry in project["dependencies"]] == ["httpx"]


def test_every_error_is_a_collimate_error():
    errors = [
        value for value in vars(collimate_rl).values() if isinstance(value, type) and issubclass(value, Exception)
    ]
    assert len(errors) > 15
    assert all(issubclass(error, collimate_rl.CollimateError) for error in errors)


def test_installed_metadata_names_the_licence():
    assert importlib.metadata.metadata("collimate-rl")["License-Expression"] == "Apache-2.0"
