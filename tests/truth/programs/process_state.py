# SPDX-License-Identifier: Apache-2.0
"""What a process is besides memory and files: limits, niceness, affinity, capabilities, filters and ids."""

import ctypes
import os
import resource
import signal
import struct

from truth import checkpoint, done, equal

libc = ctypes.CDLL(None, use_errno=True)
PR_SET_SECCOMP, PR_SET_NAME = 22, 15
PR_SET_PDEATHSIG, PR_SET_TIMERSLACK, PR_SET_CHILD_SUBREAPER, PR_SET_THP_DISABLE = 1, 29, 36, 41
PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 24, 47, 2
# prctl(2): those that answer with their return value, those that fill in an int.
ASK = {"dumpable": 3, "keepcaps": 7, "securebits": 27, "timer slack": 30, "no new privileges": 39, "huge pages": 42}
ASK_INT = {"death signal": 2, "subreaper": 37}
CAP_CHOWN, CAP_SETUID, CAP_KILL = 0, 7, 5


def filter_getppid() -> None:
    """A filter of the program's own: getppid fails with ENOTTY from now on."""
    code = b"".join(
        struct.pack("HBBI", *line) for line in ((0x20, 0, 0, 0), (0x15, 0, 1, 110), (0x06, 0, 0, 0x00050000 | 25), (0x06, 0, 0, 0x7FFF0000))
    )
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxQ", 4, ctypes.addressof(buffer))
    equal(libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0), 0)


def change_capabilities() -> None:
    """Some dropped for good, some held but not in effect, one inheritable and ambient."""
    header = struct.pack("Ii", 0x20080522, 0)
    data = ctypes.create_string_buffer(24)
    equal(libc.capget(header, data), 0)
    effective, permitted, _, *high = struct.unpack("6I", data.raw)
    permitted &= ~(1 << CAP_SETUID)
    effective &= permitted & ~(1 << CAP_KILL)
    equal(libc.prctl(PR_CAPBSET_DROP, CAP_CHOWN, 0, 0, 0), 0)
    equal(libc.capset(header, struct.pack("6I", effective, permitted, 1 << CAP_KILL, *high)), 0)
    equal(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0), 0)


def asked() -> dict[str, int]:
    number = ctypes.c_int()
    answers = {name: libc.prctl(option, 0, 0, 0, 0) for name, option in ASK.items()}
    for name, option in ASK_INT.items():
        equal(libc.prctl(option, ctypes.byref(number), 0, 0, 0), 0)
        answers[name] = number.value
    return answers


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
        **asked(),
        "scheduler": (os.sched_getscheduler(0), os.sched_getparam(0).sched_priority),
        "personality": libc.personality(0xFFFFFFFF),
        "command line": open("/proc/self/cmdline").read(),
        "out of memory": open("/proc/self/oom_score_adj").read(),
        "session": (os.getpid(), os.getpgid(0), os.getsid(0)),
        "timer": signal.getitimer(signal.ITIMER_VIRTUAL)[1],
    }


rang: list[int] = []
os.environ["TRUTH"] = "inherited"
os.umask(0o027)
os.nice(7)
os.sched_setaffinity(0, [0])
resource.setrlimit(resource.RLIMIT_NOFILE, (777, 999))
resource.setrlimit(resource.RLIMIT_CPU, (500, 600))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.setgroups([5, 1000, 60000])
os.chdir("/usr/share")
signal.signal(signal.SIGUSR1, lambda number, _: rang.append(number))
signal.signal(signal.SIGHUP, signal.SIG_IGN)
libc.prctl(PR_SET_NAME, b"a (name) 1", 0, 0, 0)
# The program's parent, a shell, ends soon: SIGCHLD is no reason to end as well.
for option, value in (
    (PR_SET_PDEATHSIG, signal.SIGCHLD),
    (PR_SET_TIMERSLACK, 123_456),
    (PR_SET_CHILD_SUBREAPER, 1),
    (PR_SET_THP_DISABLE, 1),
):
    equal(libc.prctl(option, value, 0, 0, 0), 0)
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
libc.personality(0x0040000)
with open("/proc/self/oom_score_adj", "w") as file:
    file.write("777")
change_capabilities()
filter_getppid()
signal.setitimer(signal.ITIMER_VIRTUAL, 3600, 3600)
before = state()

checkpoint()

equal({key: (before[key], value) for key, value in state().items() if before[key] != value}, {})
# The C library hands the bare number through: the call cannot fail otherwise.
equal(libc.getppid(), -25)
# The handler is the program's.
os.kill(os.getpid(), signal.SIGUSR1)
equal(rang, [signal.SIGUSR1])
done()
