# SPDX-License-Identifier: Apache-2.0
"""What no checkpoint can take (which one: the argument); it still works after the fork was refused."""

import ctypes
import os
import sys
import threading
import time

from truth import checkpoint, done, equal

libc = ctypes.CDLL(None, use_errno=True)
PTRACE_TRACEME, SYS_EXIT = 0, {"x86_64": 60, "aarch64": 93}[os.uname().machine]


def packet_pipe() -> None:
    read, write = os.pipe2(os.O_DIRECT)
    os.write(write, b"one")
    os.write(write, b"second")
    checkpoint()
    equal((os.read(read, 100), os.read(read, 100)), (b"one", b"second"))


def traced() -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        libc.ptrace(PTRACE_TRACEME, 0, None, None)
        os.write(write, b".")
        time.sleep(3600)
    os.read(read, 1)
    checkpoint()
    os.kill(child, 9)
    equal(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), -9)


def headless() -> None:
    """The main thread ends, another goes on. A process besides, since a dead main thread hides the program's name."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)

    def main_state() -> str:
        with open(f"/proc/self/task/{os.getpid()}/stat") as file:
            return file.read().rpartition(") ")[2][0]

    def rest() -> None:
        while main_state() != "Z":
            time.sleep(0.001)
        checkpoint()
        done()
        os._exit(0)

    threading.Thread(target=rest).start()
    libc.syscall(SYS_EXIT, 0)


{"packet_pipe": packet_pipe, "traced": traced, "headless": headless}[sys.argv[1]]()
done()
