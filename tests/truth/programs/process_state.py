# SPDX-License-Identifier: Apache-2.0
"""What a process is besides memory and files: limits, niceness, affinity, capabilities, filters, ids, clocks and timers."""

import ctypes
import os
import resource
import signal
import struct
import threading
import time

from truth import checkpoint, done, equal

libc = ctypes.CDLL(None, use_errno=True)
PR_SET_SECCOMP, PR_SET_NAME, PR_SET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_DUMPABLE = 22, 15, 1, 3, 4
CAP_CHOWN = 0


def filter_getppid() -> None:
    """A filter of the program's own: getppid fails with ENOTTY from now on."""
    code = b"".join(
        struct.pack("HBBI", *line) for line in ((0x20, 0, 0, 0), (0x15, 0, 1, 110), (0x06, 0, 0, 0x00050000 | 25), (0x06, 0, 0, 0x7FFF0000))
    )
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxQ", 4, ctypes.addressof(buffer))
    equal(libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0), 0)


def state() -> dict[str, object]:
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file)
    keys = (
        "Umask",
        "Uid",
        "Gid",
        "Groups",
        "CapPrm",
        "CapEff",
        "CapBnd",
        "CapInh",
        "CapAmb",
        "NoNewPrivs",
        "Seccomp",
        "SigBlk",
        "SigIgn",
        "SigCgt",
    )
    return {
        **{key: status[key] for key in keys},
        "limits": [resource.getrlimit(i) for i in range(16)],
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "affinity": os.sched_getaffinity(0),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "name": open("/proc/self/comm").read(),
        "handlers": [signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGHUP, signal.SIGTERM)],
        "dumpable": libc.prctl(PR_GET_DUMPABLE, 0, 0, 0, 0),
        "timer": signal.getitimer(signal.ITIMER_VIRTUAL)[1],
    }


rang: list[float] = []
os.environ["TRUTH"] = "inherited"
os.umask(0o027)
os.nice(7)
os.sched_setaffinity(0, [0])
resource.setrlimit(resource.RLIMIT_NOFILE, (777, 999))
resource.setrlimit(resource.RLIMIT_CPU, (500, 600))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.setgroups([5, 1000, 60000])
os.chdir("/usr/share")
signal.signal(signal.SIGUSR1, lambda *_: rang.append(time.monotonic()))
signal.signal(signal.SIGALRM, lambda *_: rang.append(time.monotonic()))
signal.signal(signal.SIGHUP, signal.SIG_IGN)
libc.prctl(PR_SET_NAME, b"a (name) 1", 0, 0, 0)
filter_getppid()
signal.setitimer(signal.ITIMER_VIRTUAL, 3600, 3600)
began = time.monotonic()
wall = time.time()
signal.setitimer(signal.ITIMER_REAL, 1.5)
slept: list[float] = []
sleeper = threading.Thread(target=lambda: (time.sleep(1.5), slept.append(time.monotonic())))
sleeper.start()
before = state()

checkpoint()

now = time.monotonic()
equal(0 <= now - began < 20, True)
equal(time.time() >= wall, True)
equal({key: value for key, value in state().items() if before[key] != value}, {})
# The C library hands the bare number through: the call cannot fail otherwise.
equal(libc.getppid(), -25)
sleeper.join(10)
until = time.monotonic() + 5
while not rang and time.monotonic() < until:
    time.sleep(0.01)
equal(len(rang), 1)
# In time: never before, and not long after the later of the deadline and the moment at which the sandbox went on.
for at in (*slept, *rang):
    equal(1.45 <= at - began < 6, True)
os.kill(os.getpid(), signal.SIGUSR1)
equal(len(rang), 2)
done()
