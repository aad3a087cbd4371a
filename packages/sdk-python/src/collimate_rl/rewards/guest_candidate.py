# SPDX-License-Identifier: Apache-2.0
# Runs inside a sandbox, in the candidate's own process, after guest_values.py. It knows inputs, never what is expected.
"""Loads a candidate and calls it once per line of input."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # prctl(2)


def die_with(grader):
    """A grader that is killed ends nobody any more, so the kernel does it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != grader:
        os._exit(1)


def answer_calls(path, entry, requests, replies):
    with os.fdopen(requests, "rb") as calls, os.fdopen(replies, "wb", buffering=0) as results:
        space = {"__name__": "candidate", "__file__": path}
        try:
            with open(path, encoding="utf-8") as source:
                exec(compile(source.read(), path, "exec"), space)
            function = space[entry]
        except BaseException:
            results.write(to_line({"loaded": False}))
            return
        results.write(to_line({"loaded": True}))
        for line in calls:
            try:
                value = pack(function(*unpack(json.loads(line))))
                results.write(to_line({"value": value}))
            except BaseException:
                results.write(to_line({"raised": True}))


die_with(int(sys.argv[5]))
answer_calls(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
# Not by returning: exit handlers and threads of a candidate have no say any more.
os._exit(0)
