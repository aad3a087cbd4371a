# SPDX-License-Identifier: Apache-2.0
# Runs inside a sandbox, in the trusted interpreter, after guest_values.py.
"""Grades a candidate that runs in a process of its own, and reports the verdict under a signature it cannot know."""

import ctypes
import os
import signal
import subprocess
import sys

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36  # prctl(2)
REPLY_MAX = 16 * 1024 * 1024


class CandidateEnded(Exception):
    pass


class Candidate:
    """The candidate's process. Its output goes nowhere; values come over a pipe of their own."""

    def __init__(self, program, path, entry):
        request_end, self.requests = os.pipe()
        reply_pipe, reply_end = os.pipe()
        self.replies = os.fdopen(reply_pipe, "rb")
        try:
            numbers = map(str, (request_end, reply_end, os.getpid()))
            self.process = subprocess.Popen(
                [sys.executable or "python3", "-I", "-c", program, path, entry, *numbers],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(request_end, reply_end),
                start_new_session=True,
            )
        finally:
            os.close(request_end)
            os.close(reply_end)

    def reply(self):
        line = self.replies.readline(REPLY_MAX)
        if not line.endswith(b"\n"):
            raise CandidateEnded
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise CandidateEnded from None
        return message if isinstance(message, dict) else {}

    def call(self, arguments):
        """(True, value), or (False, None) when it raised or gave no plain value."""
        try:
            pending = memoryview(to_line(pack(list(arguments))))
            while pending:
                pending = pending[os.write(self.requests, pending) :]
        except BrokenPipeError:
            raise CandidateEnded from None
        message = self.reply()
        try:
            return (True, unpack(message["value"]))
        except (KeyError, TypeError, ValueError, RecursionError, AttributeError):
            return (False, None)

    def end(self):
        """Kill it. The signal that had ended it before, or 0."""
        ended = self.process.poll()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.requests)
        self.replies.close()
        return -ended if ended is not None and ended < 0 else 0


def children_of(pid):
    found = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children") as listed:
                found.update(map(int, listed.read().split()))
        except OSError:
            pass
    return found


def end_strays(before):
    """Kill what a candidate left behind: as subreaper this process has become its parent."""
    for _ in range(100):
        strays = children_of(os.getpid()) - before
        if not strays:
            return
        for stray in strays:
            try:
                os.kill(stray, signal.SIGKILL)
                os.waitpid(stray, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def graded(candidate, rounds):
    """The share of (arguments, expected) rounds that the candidate answers as expected."""
    if candidate.reply().get("loaded") is not True:
        return 0.0, "load_error", 0
    right = total = 0
    for arguments, expected in rounds():
        total += 1
        answered, value = candidate.call(arguments)
        try:
            right += answered and same(value, expected)
        except RecursionError:
            pass
    return (right / total if total else 0.0), "graded", 0


def grade(program, path, entry, rounds, signature):
    """Prints the verdict: the last line that carries the signature counts, and only this process knows it."""
    libc = ctypes.CDLL(None, use_errno=True)
    # A process that is not dumpable can be neither traced nor read through /proc by others of its user (ptrace(2)).
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = children_of(os.getpid())
    candidate = Candidate(program, path, entry)
    reward, outcome, number = 0.0, "crashed", 0
    try:
        reward, outcome, number = graded(candidate, rounds)
    except CandidateEnded:
        try:
            candidate.process.wait(1)
        except subprocess.TimeoutExpired:
            pass
    finally:
        number = candidate.end() or number
        end_strays(before)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    sys.stdout.write(f"\n{signature} {reward!r} {outcome} {number}\n")
    sys.stdout.flush()
