# SPDX-License-Identifier: Apache-2.0
"""The programs that run inside a sandbox: the shared prefix, the first answer of a child, the grading of a candidate."""

from __future__ import annotations

from .problems import Problem

WORKING_SET = 200 * 1024 * 1024
CANDIDATE_SECONDS = 5.0
CANDIDATE_MEMORY = 512 * 1024 * 1024
LIMIT_EXIT = 3
WRONG_EXIT = 1

PREFIX = """
PROBLEM = {problem!r}
TESTS = compile(PROBLEM["test"], PROBLEM["task_id"] + "/test", "exec")
try:
    import torch
    # Written to, not merely allocated: every page is real.
    WORKING_SET = torch.full(({size} // 4,), 1.0, dtype=torch.float32)
    SIZE = WORKING_SET.numel() * 4
except ImportError:
    WORKING_SET = bytearray(b"\\x01") * {size}
    SIZE = len(WORKING_SET)
print(PROBLEM["task_id"], SIZE)
"""

FIRST_ANSWER = """
print(PROBLEM["task_id"], SIZE)
"""

GRADE = """
import resource, signal, sys

def expired(*_):
    raise TimeoutError("the candidate ran too long")

# Memory on top of what the process has; a mutated loop may collect without end.
with open("/proc/self/statm") as f:
    in_use = int(f.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (in_use + {memory}, resource.getrlimit(resource.RLIMIT_AS)[1]))
try:
    signal.signal(signal.SIGALRM, expired)
except ValueError:
    pass  # not the main thread: the time limit of the exec holds
else:
    # Again and again, since a candidate may swallow the first one.
    signal.setitimer(signal.ITIMER_REAL, {seconds}, 0.5)
space = {{"__name__": "candidate"}}
failure = None
try:
    exec(compile({source!r}, "candidate", "exec"), space)
    exec(TESTS, space)
    space["check"](space[PROBLEM["entry_point"]])
except BaseException as error:
    failure = error
signal.setitimer(signal.ITIMER_REAL, 0)
if failure is not None:
    sys.stderr.write(f"{{type(failure).__name__}}: {{failure}}"[:500] + "\\n")
    sys.exit({limit_exit} if isinstance(failure, (TimeoutError, MemoryError)) else {wrong_exit})
"""


def prefix(problem: Problem) -> str:
    """Loads the problem and its tests into the interpreter and builds the working set."""
    return PREFIX.format(problem=problem.as_dict(), size=WORKING_SET)


def expected_answer(problem: Problem) -> str:
    """What the prefix prints, and every child that inherited it."""
    return f"{problem.task_id} {WORKING_SET}"


def grading(candidate: str) -> str:
    """Runs a candidate against the tests that the prefix left behind: exit code 0 if they pass."""
    return GRADE.format(
        source=candidate,
        memory=CANDIDATE_MEMORY,
        seconds=CANDIDATE_SECONDS,
        limit_exit=LIMIT_EXIT,
        wrong_exit=WRONG_EXIT,
    )
