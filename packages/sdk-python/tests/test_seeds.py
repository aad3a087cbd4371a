# SPDX-License-Identifier: Apache-2.0
import pytest

from collimate_rl import DET_SEED, fresh_seed, group_seeds, is_valid_seed, seed_from_key
from collimate_rl.seeds import MODES, step_seed

BASE = "0123456789abcdefABCDEF" + "0" * 42


def test_seed_from_key_gives_the_published_vectors():
    assert seed_from_key("k") == "f6dc1034b093dd79d1b96f328cb1e489ff00868c9a1fdb2f1f929e5bf31f9e51"
    assert seed_from_key("ds:1", salt="s") == "f53797967c9e065062ed1e03e1324a6eae757f2b81bcce10fdd07f01d8a3cd5b"


@pytest.mark.parametrize("value", [BASE, DET_SEED, fresh_seed()])
def test_64_hex_digits_of_either_case_are_a_seed(value):
    assert is_valid_seed(value)


@pytest.mark.parametrize(
    "value", ["", BASE[1:], BASE + "0", "g" + BASE[1:], "0x" + BASE[2:], b"0" * 64, None, 7, "٠" * 64]
)
def test_nothing_else_is_a_seed(value):
    assert not is_valid_seed(value)


def test_fresh_seeds_differ():
    assert len({fresh_seed() for _ in range(100)}) == 100


def test_each_mode_gives_its_seeds():
    assert MODES == ("vanilla", "crn", "deterministic")
    assert group_seeds(3, "vanilla", BASE) == [None] * 3
    assert group_seeds(3, "crn", BASE) == [BASE] * 3
    assert group_seeds(2, "deterministic") == [DET_SEED] * 2
    assert group_seeds(2, "deterministic", BASE) == [BASE] * 2
    assert group_seeds(0) == []
    one, two, three = group_seeds(3, "crn")
    assert one == two == three and is_valid_seed(one)
    assert group_seeds(1) != group_seeds(1)


@pytest.mark.parametrize(
    ("n", "mode", "base"), [(-1, "crn", None), (1, "other", None), (1, "crn", "short"), (1, "vanilla", "short")]
)
def test_bad_group_arguments_are_refused(n, mode, base):
    with pytest.raises(ValueError):
        group_seeds(n, mode, base)


def test_steps_of_equal_seeds_are_equal_and_of_one_seed_all_differ():
    steps = [step_seed(BASE, step) for step in range(20)]
    assert steps[0] == BASE
    assert steps == [step_seed(BASE, step) for step in range(20)]
    assert len(set(steps)) == 20 and all(map(is_valid_seed, steps))
