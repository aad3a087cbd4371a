# SPDX-License-Identifier: Apache-2.0
"""The quickstart's candidates: the same everywhere, all different, some right and some wrong when really run."""

import ast
import gzip
import json
import subprocess
import sys

import pytest
from humaneval.mutations import candidates
from humaneval.problems import Problem, find_data, load_problems
from humaneval.programs import CANDIDATE_SECONDS, LIMIT_EXIT, WRONG_EXIT, grading
from humaneval.table import render

CLAMP = Problem(
    task_id="Test/0",
    prompt='def clamp(x, low, high):\n    """Keep x within low and high: 3 stays 3."""\n',
    entry_point="clamp",
    canonical_solution="    if x < low:\n        return low\n    return high if x > high and True else x * 1 + 0\n",
    test=(
        "def check(clamp):\n"
        "    assert clamp(5, 0, 10) == 5\n"
        "    assert clamp(-1, 0, 10) == 0\n"
        "    assert clamp(11, 0, 10) == 10\n"
    ),
)


def run(candidate: str, problem: Problem = CLAMP) -> subprocess.CompletedProcess:
    left_by_prefix = f"PROBLEM = {problem.as_dict()!r}\nTESTS = compile(PROBLEM['test'], 'test', 'exec')\n"
    program = left_by_prefix + grading(candidate)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


def test_candidates_are_the_same_every_time_and_all_different():
    first = candidates(CLAMP, 64)
    assert first == candidates(CLAMP, 64)
    assert len(set(first)) == 64
    assert first[:8] == candidates(CLAMP, 8)


def test_they_depend_on_the_problem():
    other = Problem(**{**CLAMP.as_dict(), "task_id": "Test/1"})
    assert candidates(other, 8) != candidates(CLAMP, 8)


def test_the_first_is_the_canonical_solution_and_all_are_programs():
    made = candidates(CLAMP, 16)
    assert made[0] == ast.unparse(ast.parse(CLAMP.prompt + CLAMP.canonical_solution))
    for program in made:
        assert ast.get_docstring(ast.parse(program).body[0]) == "Keep x within low and high: 3 stays 3."


def test_really_run_some_pass_and_some_fail():
    codes = [run(candidate).returncode for candidate in candidates(CLAMP, 12)]
    assert codes[0] == 0
    assert 0 in codes[1:] and WRONG_EXIT in codes


def test_a_problem_with_nothing_to_change_is_refused():
    bare = Problem(**{**CLAMP.as_dict(), "canonical_solution": "    pass\n"})
    with pytest.raises(ValueError, match="only 1 different"):
        candidates(bare, 2)


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "while True:\n        try:\n            while True: pass\n        except BaseException: raise",
    ],
)
def test_a_candidate_that_never_ends_is_ended(body, monkeypatch):
    monkeypatch.setattr("humaneval.programs.CANDIDATE_SECONDS", 0.3)
    done = run(f"def clamp(x, low, high):\n    {body}\n")
    assert (done.returncode, "ran too long" in done.stderr) == (LIMIT_EXIT, True)
    assert CANDIDATE_SECONDS >= 1


def test_a_candidate_that_collects_without_end_is_ended():
    done = run("def clamp(x, low, high):\n    held = 'x'\n    while True: held += held\n")
    assert (done.returncode, "MemoryError" in done.stderr) == (LIMIT_EXIT, True)


def test_a_candidate_cannot_pass_by_leaving():
    assert run("import sys\ndef clamp(x, low, high):\n    sys.exit(0)\n").returncode == WRONG_EXIT


def test_problems_are_read_from_a_data_file(tmp_path):
    path = tmp_path / "HumanEval.jsonl.gz"
    with gzip.open(path, "wt") as out:
        out.write("\n".join(json.dumps({**CLAMP.as_dict(), "extra": 1}) for _ in range(3)) + "\n\n")
    assert load_problems(path, 2) == [CLAMP, CLAMP]
    for count in (0, 4):
        with pytest.raises(ValueError, match="3 problems"):
            load_problems(path, count)


def test_the_packages_data_has_164_problems_with_64_candidates_each():
    problems = load_problems(find_data(), 164)
    assert problems[0].task_id == "HumanEval/0"
    # Each fortieth: the whole set takes as long as it is dull.
    for problem in problems[::40]:
        assert len(set(candidates(problem, 64))) == 64


def test_the_table_shows_a_dash_for_what_nobody_told():
    row = {"title": "p", "prefix_seconds": 1, "fork_seconds": 0.5, "grade_seconds": 2, "mean_reward": 0.25}
    report = {
        "problems": [row],
        "env": {**row, "title": "e", "pause_ms": 7, "private_mib_per_child": 1.5},
        "cold_start": {"seconds": 2.0, "times_width_seconds": 128.0},
        "width": 64,
        "ratio": 256.0,
        "usage": {"totals": {"vcpu_seconds": 9}},
        "client": "ours",
        "client_version": "1",
    }
    lines = render(report).splitlines()
    told = {line.split()[0]: line.split() for line in lines if line.startswith(("p ", "e "))}
    assert told["p"] == ["p", "1.00", "s", "0.50", "s", "2.00", "s", "0.250", "-", "-"]
    assert told["e"][-4:] == ["1.5", "MiB", "7", "ms"]
    assert "ratio: 256.0 times" in lines and "usage: vcpu_seconds 9" in lines
