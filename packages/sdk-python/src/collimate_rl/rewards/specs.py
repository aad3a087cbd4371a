# SPDX-License-Identifier: Apache-2.0
"""How candidates are judged: unit tests, a property against a reference, or a judge of one's own."""

from __future__ import annotations

import json
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, cast

from .verdict import Signer, Verdict, clamped


class RewardSpec(ABC):
    """Makes the program that judges a candidate inside a sandbox, and reads its output.

    A judge of one's own overrides `build` and may use the default `parse`: the last line is the reward. That is for
    candidates that are trusted: whatever runs in the judge's process could print such a line. The two below are not fooled.
    """

    interpreter = "python3"

    @abstractmethod
    def build(self, candidate_path: str) -> str:
        """The judging program's text; the candidate lies at `candidate_path` in the sandbox."""

    def parse(self, stdout: str) -> float:
        """The reward in a program's output, 0 to 1. No output, no number or no finite one is 0."""
        return self.verdict(stdout).reward

    def verdict(self, stdout: str) -> Verdict:
        """The reward and how the run ended."""
        lines = [line for line in stdout.splitlines() if line.strip()]
        try:
            return Verdict(clamped(float(lines[-1])), "graded")
        except (IndexError, ValueError):
            return Verdict(0.0, "no_verdict")


class IsolatedReward(RewardSpec):
    """Judges by comparing values that come out of the candidate's own process, which never sees what is expected."""

    def __init__(self, entry: str) -> None:
        if not entry.isidentifier():
            raise ValueError(f"entry must be a function's name, got {entry!r}")
        self.entry = entry
        self._signer = Signer()

    @abstractmethod
    def rounds(self) -> str:
        """Text of a function `rounds()` that yields (arguments, expected)."""

    def build(self, candidate_path: str) -> str:
        candidate = guest_text("guest_values.py") + guest_text("guest_candidate.py")
        grader = guest_text("guest_values.py") + guest_text("guest_grader.py") + self.rounds()
        call = f"grade(PROGRAM, {candidate_path!r}, {self.entry!r}, rounds, {self._signer.new_signature()!r})"
        # In a namespace of its own: the sandbox's interpreter keeps its variables.
        space = f"{{'__name__': 'grader', 'PROGRAM': {candidate!r}}}"
        return f"exec(compile({grader + call!r}, 'grader', 'exec'), {space})"

    def verdict(self, stdout: str) -> Verdict:
        return self._signer.read(stdout)


class UnitTestReward(IsolatedReward):
    """The share of tests passed. A test is `{"input": ..., "expected": ...}`; a list as input is the argument list."""

    def __init__(self, tests: Sequence[Mapping[str, Any]], entry: str = "solve") -> None:
        super().__init__(entry)
        self.tests = [dict(test) for test in tests]
        for test in self.tests:
            if not {"input", "expected"} <= test.keys():
                raise ValueError(f'a test needs "input" and "expected", got {test!r}')

    def rounds(self) -> str:
        return (
            f"def rounds():\n"
            f"    for test in json.loads({json.dumps(self.tests)!r}):\n"
            f"        given = test['input']\n"
            f"        yield (given if isinstance(given, list) else [given]), test['expected']\n"
        )


class PropertyReward(IsolatedReward):
    """The share of `k` random inputs on which the candidate does what the reference does.

    `reference` is the body of a function of `x`; `generator` an expression that draws an `x`, with `random` in scope.
    """

    def __init__(self, reference: str, generator: str, k: int = 16, entry: str = "solve") -> None:
        super().__init__(entry)
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        self.reference, self.generator, self.k = reference, generator, k

    def rounds(self) -> str:
        body = textwrap.indent(textwrap.dedent(self.reference), "    ")
        return (
            "import copy, random\n"
            f"def reference(x):\n{body}\n"
            "def rounds():\n"
            f"    for _ in range({self.k}):\n"
            f"        x = ({self.generator})\n"
            "        yield [copy.deepcopy(x)], reference(x)\n"
        )


def reward_spec_from_ground_truth(ground_truth: object, entry: str = "solve") -> RewardSpec:
    """The spec that a dataset's ground truth (JSON text or a value) describes: a list of unit tests, or an object with
    `reference` and `generator`, and perhaps `k` and `entry`."""
    value = ground_truth
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as cause:
            raise ValueError(f"the ground truth is not JSON: {cause}") from cause
    if isinstance(value, list):
        return UnitTestReward(cast(list[Mapping[str, Any]], value), entry)
    if isinstance(value, dict) and "reference" in value and "generator" in value:
        fields = cast(dict[str, Any], value)
        return PropertyReward(
            fields["reference"], fields["generator"], int(fields.get("k", 16)), str(fields.get("entry", entry))
        )
    raise ValueError("the ground truth is neither a list of tests nor an object with reference and generator")


@cache
def guest_text(name: str) -> str:
    return (files(__package__ or "") / name).read_text("utf-8")
