# SPDX-License-Identifier: Apache-2.0
"""A tree of processes with sessions, groups, a zombie, an orphan, a daemon, a stopped process and a pipeline."""

import os
import signal
import subprocess
import time

from truth import checkpoint, done, equal


def stat_of(pid: int) -> tuple[str, int, int, int]:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return fields[0], int(fields[1]), int(fields[2]), int(fields[3])


def tree() -> dict[int, tuple[int, int, int]]:
    """Parent, group and session of each process that was there at the checkpoint."""
    return {pid: stat_of(pid)[1:] for pid in all_pids}


def state(pid: int, wanted: str) -> None:
    until = time.monotonic() + 5
    while stat_of(pid)[0] != wanted and time.monotonic() < until:
        time.sleep(0.002)
    equal(stat_of(pid)[0], wanted)


def born(code) -> int:
    pid = os.fork()
    if pid == 0:
        code()
        while True:
            signal.pause()
    return pid


def middle() -> None:
    os.setpgid(0, 0)
    born(lambda: born(lambda: None))


def orphaned() -> int:
    """A double fork, as daemons do: its parent and session leader end."""
    read, write = os.pipe()
    leader = os.fork()
    if leader == 0:
        os.setsid()
        daemon = os.fork()
        if daemon == 0:
            os.write(write, str(os.getpid()).encode())
            os.close(write)
            while True:
                signal.pause()
        os._exit(0)
    os.close(write)
    os.waitpid(leader, 0)
    pid = int(os.read(read, 20))
    os.close(read)
    return pid


group = born(middle)
session = born(lambda: os.setsid())
zombie = os.fork()
if zombie == 0:
    os._exit(7)
zombie_of_high_code = os.fork()
if zombie_of_high_code == 0:
    os._exit(200)
zombie_of_signal = os.fork()
if zombie_of_signal == 0:
    os.setsid()
    os.kill(os.getpid(), signal.SIGKILL)
stopped = born(lambda: None)
os.kill(stopped, signal.SIGSTOP)
daemon = orphaned()
pipeline = subprocess.Popen(["bash", "-c", "cat | tr a-z A-Z | cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
pipeline.stdin.write(b"before ")
pipeline.stdin.flush()
state(zombie, "Z")
state(zombie_of_high_code, "Z")
state(zombie_of_signal, "Z")
state(stopped, "T")
time.sleep(0.05)
all_pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and int(entry) != 1]
all_pids = [pid for pid in all_pids if stat_of(pid)[3] in (os.getsid(0), session, stat_of(daemon)[3]) or stat_of(pid)[1] == os.getpid()]
tree_before = tree()
own = (os.getpid(), os.getppid(), os.getpgid(0), os.getsid(0))

checkpoint()

lost = {}
after = {}
for pid, was in tree_before.items():
    try:
        after[pid] = stat_of(pid)[1:]
    except FileNotFoundError:
        lost[pid] = was
# What starts and checks the program ends by itself.
equal(
    {
        pid: was
        for pid, was in lost.items()
        if pid in (os.getpid(), group, session, zombie, zombie_of_signal, stopped, daemon, pipeline.pid)
    },
    {},
)
moved = {pid: (tree_before[pid], now) for pid, now in after.items() if now[1:] != tree_before[pid][1:]}
equal(moved, {})
equal((os.getpid(), os.getpgid(0), os.getsid(0)), (own[0], own[2], own[3]))
equal(stat_of(zombie)[0], "Z")
equal(stat_of(stopped)[0], "T")
equal(os.waitpid(zombie, 0), (zombie, 7 << 8))
equal(os.waitpid(zombie_of_high_code, 0), (zombie_of_high_code, 200 << 8))
equal(os.waitpid(zombie_of_signal, 0), (zombie_of_signal, signal.SIGKILL))
os.kill(stopped, signal.SIGCONT)
state(stopped, "S")
for pid in (stopped, session):
    os.kill(pid, signal.SIGTERM)
    equal(os.waitpid(pid, 0), (pid, signal.SIGTERM))
os.killpg(group, signal.SIGTERM)
equal(os.waitpid(group, 0), (group, signal.SIGTERM))
os.kill(daemon, signal.SIGTERM)
out, _ = pipeline.communicate(b"after", timeout=5)
equal(out, b"BEFORE AFTER")
done()
