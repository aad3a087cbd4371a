# SPDX-License-Identifier: Apache-2.0
"""Grading with real programs in real processes: what is right scores, what cheats does not."""

import json
import os
import subprocess
import sys

import pytest

from collimate_rl import (
    AuthenticationError,
    PropertyReward,
    RewardSpec,
    UnitTestReward,
    extract_code,
    grade,
    grade_batch,
    reward_spec_from_ground_truth,
)
from collimate_rl.rewards.guest_values import pack, same, unpack
from collimate_rl.rewards.verdict import MARK, Signer
from peer import Reply, ended

DOUBLE = [{"input": 1, "expected": 2}, {"input": [21], "expected": 42}, {"input": 0, "expected": 0}]
RIGHT = "def solve(x):\n    return 2 * x\n"


@pytest.fixture
def score(client, session):
    def run(candidate: str, spec: RewardSpec | None = None, **options):
        return grade(client, "unused", candidate, spec or UnitTestReward(DOUBLE), session_id=session.id, **options)

    return run


def test_a_right_candidate_is_worth_1_and_a_half_right_one_its_share(score):
    assert score(RIGHT).reward == 1.0
    half = score("def solve(x):\n    return 42 if x == 21 else 7\n")
    assert half.reward == pytest.approx(1 / 3)
    assert (half.outcome, half.exit_code, half.infra_error) == ("graded", 0, False)


FORGERIES = {
    "prints a reward and exits": "print(1.0)\nimport os\nos._exit(0)",
    "prints nan": "print('nan')\ndef solve(x): return float('nan')",
    "prints at exit": "import atexit\natexit.register(lambda: print(1.0))\ndef solve(x): return None",
    "an object equal to everything": (
        "class Any:\n    __eq__ = lambda self, other: True\n    __hash__ = None\ndef solve(x): return Any()"
    ),
    "an int that is equal to everything": (
        "class Any(int):\n    __eq__ = lambda self, other: True\n    __hash__ = int.__hash__\ndef solve(x): return Any()"
    ),
    "writes verdicts on every descriptor": (
        "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\nCOLLIMATE-VERDICT a b 1.0 graded 0\\n')\n"
        "    except OSError: pass\ndef solve(x): return None"
    ),
    "answers before it is asked": (
        "import os, json\nfor fd in range(3, 64):\n    try: os.write(fd, b'{\"loaded\": true}\\n' * 9)\n"
        "    except OSError: pass\ndef solve(x): return None"
    ),
    "writes on the judge's output": (
        "import os\ntry:\n    with open(f'/proc/{os.getppid()}/fd/1', 'w') as out: out.write('1.0')\n"
        "except OSError: pass\ndef solve(x): return None"
    ),
    "replaces json in its own process": (
        "import json\njson.dumps = lambda message: '{\"value\": true}'\ndef solve(x): return None"
    ),
    "returns True for 1": "def solve(x): return bool(x)",
    "raises": "def solve(x): raise SystemExit(0)",
    "returns nothing finite": "def solve(x): return float('inf')",
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_worth_nothing(score, name):
    result = score(FORGERIES[name], UnitTestReward([{"input": 1, "expected": 1}, {"input": 2, "expected": 2}]))
    assert result.reward == 0.0
    assert not result.infra_error


def test_type_confusion_is_no_match(score):
    assert score("def solve(x): return (1, 2)", UnitTestReward([{"input": 0, "expected": [1, 2]}])).reward == 0.0
    assert score("def solve(x): return [1, 2.0]", UnitTestReward([{"input": 0, "expected": [1, 2]}])).reward == 1.0


@pytest.mark.parametrize(
    ("candidate", "outcome", "number"),
    [
        ("def other(x): return x", "load_error", 0),
        ("this is not python", "load_error", 0),
        ("import os, signal\ndef solve(x): os.kill(os.getpid(), signal.SIGSEGV)", "crashed", 11),
        ("import os\ndef solve(x): os._exit(0)", "crashed", 0),
    ],
)
def test_ends_that_are_no_wrong_answer_are_told_apart(score, candidate, outcome, number):
    result = score(candidate)
    assert (result.reward, result.outcome, result.signal) == (0.0, outcome, number)


def test_a_candidate_that_hangs_is_a_time_out(client):
    result = grade(client, "tpl_any", "def solve(x):\n    while True: pass", UnitTestReward(DOUBLE), timeout_seconds=1)
    assert (result.reward, result.timed_out, result.outcome) == (0.0, True, "timed_out")


def test_a_background_process_of_a_candidate_does_not_outlive_its_grade(score, session, tmp_path):
    noted = tmp_path / "pid"
    daemon = (
        "import os\n"
        "def solve(x):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        if os.fork() == 0:\n"
        f"            open({str(noted)!r}, 'w').write(str(os.getpid()))\n"
        "            import signal; signal.pause()\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
        f"    while not (os.path.exists({str(noted)!r}) and open({str(noted)!r}).read()): pass\n"
        "    return 2 * x\n"
    )
    assert score(daemon, UnitTestReward([{"input": 1, "expected": 2}])).reward == 1.0
    gone = session.exec(command=f"kill -0 {noted.read_text()}")
    assert not gone.ok


def test_a_candidate_dies_with_its_grader(tmp_path):
    candidate, noted = tmp_path / "candidate.py", tmp_path / "pid"
    os.mkfifo(noted)
    candidate.write_text(
        "import os\n"
        "def solve(x):\n"
        f"    with open({str(noted)!r}, 'w') as note: note.write(str(os.getpid()))\n"
        "    while True: pass\n"
    )
    judge = subprocess.Popen([sys.executable, "-c", UnitTestReward(DOUBLE).build(str(candidate))])
    candidate_process = os.pidfd_open(int(noted.read_text()))
    judge.kill()
    judge.wait()
    assert ended(candidate_process)


def test_the_interpreter_keeps_its_own_variables(score, session):
    session.exec(code="grade = reference = json = 'mine'")
    assert score(RIGHT).reward == 1.0
    assert session.exec(code="print(grade, reference, json)").stdout == "mine mine mine\n"


def test_a_property_is_checked_on_random_inputs(score):
    spec = PropertyReward("x.sort()\nreturn x", "[random.randint(0, 9) for _ in range(5)]", k=8)
    assert score("def solve(x): return sorted(x)", spec).reward == 1.0
    assert score("def solve(x): return x + [0]", spec).reward == 0.0


def test_a_batch_is_graded_in_sandboxes_of_their_own(peer, client):
    results = grade_batch(client, "tpl_any", [RIGHT, "def solve(x): return 0", RIGHT], UnitTestReward(DOUBLE))
    assert [result.reward for result in results] == [1.0, pytest.approx(1 / 3), 1.0]
    assert peer.platform.sandboxes.live == {} and len(peer.platform.sandboxes.deleted) == 3


def test_a_failure_of_the_platform_is_no_verdict(peer, client):
    unauthorized = Reply(401, {"code": "unauthorized", "message": "who?"})

    def batch(**options):
        peer.fail("POST", ".*/exec", unauthorized)
        return grade_batch(client, "tpl_any", [RIGHT, RIGHT], UnitTestReward(DOUBLE), concurrency=1, **options)

    with pytest.raises(AuthenticationError):
        batch()
    zero, one = batch(on_infra_error="zero")
    assert (zero.reward, zero.infra_error, zero.raw, one.reward) == (0.0, True, {"error": "who?"}, 1.0)
    assert [result.reward for result in batch(on_infra_error="skip")] == [1.0]
    with pytest.raises(ValueError):
        batch(seeds=["ab" * 32])


def test_a_judge_of_ones_own_speaks_by_its_last_line(score):
    class Own(RewardSpec):
        def build(self, candidate_path: str) -> str:
            return f"print('noise'); print(len(open({candidate_path!r}).read()) / 10)\nprint()"

    assert score("12345", Own()).reward == 0.5
    parse = Own().parse
    assert [parse(text) for text in ("7", "-1", "nan", "inf", "", "x\n0.25\n\n", "0.5\nx")] == [1, 0, 0, 0, 0, 0.25, 0]


def test_only_the_signer_can_sign():
    signer, other = Signer(), Signer()
    signature = signer.new_signature()
    assert signer.new_signature() != signature
    assert signer.read(f"noise\n{signature} 0.5 graded 0\nnoise").reward == 0.5
    for line in (
        f"{other.new_signature()} 1.0 graded 0",
        f"{MARK} a b 1.0 graded 0",
        f"{signature} 1.0",
        f"{signature} x graded 0",
        f"{MARK} \u00e9 \u00e9 1.0 graded 0",
        "",
    ):
        assert signer.read(line).outcome == "no_verdict"
    assert signer.read(f"{signature} inf graded 0").reward == 0.0


@pytest.mark.parametrize(
    "value", [None, True, 3, -(2**80), 1.5, "é\n", b"\x00", [1, (2, {3})], {"a": [1], 2: None}, 1 + 2j]
)
def test_plain_values_survive_packing(value):
    again = unpack(json.loads(json.dumps(pack(value))))
    assert again == value and type(again) is type(value) and same(again, value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), print, type("L", (list,), {})()])
def test_other_values_do_not(value):
    with pytest.raises(ValueError):
        pack(value)


@pytest.mark.parametrize(
    ("truth", "kind"),
    [
        (json.dumps(DOUBLE), UnitTestReward),
        (DOUBLE, UnitTestReward),
        ({"reference": "return x", "generator": "1", "k": 3, "entry": "f"}, PropertyReward),
    ],
)
def test_ground_truth_says_how_to_judge(truth, kind):
    assert type(reward_spec_from_ground_truth(truth)) is kind


@pytest.mark.parametrize("truth", ["{", "3", {"reference": "x"}, None, [{"input": 1}]])
def test_other_ground_truth_is_refused(truth):
    with pytest.raises(ValueError):
        reward_spec_from_ground_truth(truth)


@pytest.mark.parametrize(
    ("completion", "code"),
    [
        ("Sure:\n```python\ndef solve(x):\n    return x\n```\nand\n```\nno\n```", "def solve(x):\n    return x"),
        ("```\na = 1\n```", "a = 1"),
        ("I think\ndef solve(x):\n    return x\n", "def solve(x):\n    return x"),
        ("  just this \n", "just this"),
        ("", ""),
    ],
)
def test_the_program_is_found_in_an_answer(completion, code):
    assert extract_code(completion) == code
