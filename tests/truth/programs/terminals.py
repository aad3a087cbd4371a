# SPDX-License-Identifier: Apache-2.0
"""Terminals: a shell with job control, a raw one with data in flight both ways, one that hangs up, and their settings."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import tty

from truth import HERE, checkpoint, done, equal


def window(fd: int) -> tuple[int, int]:
    return struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, b"\0" * 8))[:2]


def set_window(fd: int, rows: int, columns: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def until(fd: int, pattern: str, seconds: float = 8) -> str:
    """Reads from a terminal until what came matches."""
    text = ""
    end = time.monotonic() + seconds
    while not re.search(pattern, text):
        ready, _, _ = select.select([fd], [], [], max(0, end - time.monotonic()))
        if not ready:
            raise AssertionError(f"no {pattern!r} in {text!r}")
        text += os.read(fd, 4096).decode(errors="replace")
    return text


# bash on a terminal of its own: a stopped job, one in the background, one in the foreground.
shell, shell_fd = pty.fork()
if shell == 0:
    os.environ.update(PS1="> ", TERM="xterm", HISTFILE="", PROMPT_COMMAND="")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell without job control has this program ignore it
    os.execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "-i")
set_window(shell_fd, 33, 111)


def foreground(fd: int) -> int:
    return struct.unpack("i", fcntl.ioctl(fd, termios.TIOCGPGRP, b"\0" * 4))[0]


def wait_until(condition, what: str) -> None:
    end = time.monotonic() + 8
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not {what}")
        time.sleep(0.005)


def in_foreground(fd: int, program: str) -> None:
    """Not only forked for it: before that a shell's child does not take signals as the program would."""

    def name() -> str:
        try:
            with open(f"/proc/{foreground(fd)}/comm") as file:
                return file.read().strip()
        except FileNotFoundError:
            return "nobody"

    wait_until(lambda: name() == program, f"{program} in the foreground")


os.write(shell_fd, b"kept=before; sleep 7001 & sleep 7002\n")
until(shell_fd, r"sleep 7002")

in_foreground(shell_fd, "sleep")
os.write(shell_fd, b"\x1a")
until(shell_fd, r"Stopped[^\n]*sleep 7002[^>]*> ")
os.write(shell_fd, b"cat -u | sed -u s/^/seen:/\n")
in_foreground(shell_fd, "cat")

# Raw, with data in flight from the slave; a line and a half typed into a cooked one; echo off on a third.
raw, raw_slave = pty.openpty()
tty.setraw(raw_slave)
os.write(raw_slave, b"to the master\x00\xff")
os.write(raw, b"to the slave")
cooked, cooked_slave = pty.openpty()
os.write(cooked, b"typed ahead\nhalf a li")
while struct.unpack("i", fcntl.ioctl(cooked, termios.FIONREAD, b"\0" * 4))[0] < len("typed ahead\r\nhalf a li"):
    time.sleep(0.001)
os.write(cooked_slave, b"asked?\n")
# Nobody reads what a program writes, until it may not write any more.
full, full_slave = pty.openpty()
os.set_blocking(full_slave, False)
shown = 0
try:
    while True:
        shown += os.write(full_slave, b"shown\n" * 100)
except BlockingIOError:
    pass
quiet, quiet_slave = pty.openpty()
settings = termios.tcgetattr(quiet_slave)
settings[3] &= ~termios.ECHO
settings[6][termios.VINTR] = b"\x07"
termios.tcsetattr(quiet_slave, termios.TCSANOW, settings)
set_window(quiet, 7, 77)
# Nobody has the slave open; nobody has the master open.
lonely, lonely_slave = pty.openpty()
os.close(lonely_slave)
hung, hung_slave = pty.openpty()

# A session whose leader waits for what its terminal tells: a new size, the end.
reader, writer = os.pipe()
child, child_fd = pty.fork()
if child == 0:
    os.close(hung)

    def told(number: int, _frame: object) -> None:
        if number == signal.SIGHUP:
            os.write(writer, b"the end")
            os._exit(0)
        os.write(writer, b"%d columns;" % os.get_terminal_size(0).columns)

    signal.signal(signal.SIGWINCH, told)
    signal.signal(signal.SIGHUP, told)
    with open("/dev/tty", "rb", buffering=0) as own:
        os.write(writer, b"up;")
        while True:
            os.write(writer, b"read " + own.readline() + b";")
os.close(writer)
equal(os.read(reader, 3), b"up;")
names = [os.ttyname(slave) for slave in (raw_slave, cooked_slave, quiet_slave)]
before = [(os.ttyname(slave), termios.tcgetattr(slave), window(slave)) for slave in (raw_slave, cooked_slave, quiet_slave)]

me = checkpoint()

after = [(os.ttyname(slave), termios.tcgetattr(slave), window(slave)) for slave in (raw_slave, cooked_slave, quiet_slave)]
equal(after, before)
equal(os.read(raw, 100), b"to the master\x00\xff")
equal(os.read(raw_slave, 100), b"to the slave")
os.write(raw_slave, me.encode())
equal(os.read(raw, 100), me.encode())
# Echoed once and written once; the half line is a line when it ends.
equal(os.read(cooked, 100), b"typed ahead\r\nhalf a liasked?\r\n")
equal(os.read(cooked_slave, 100), b"typed ahead\n")
equal(select.select([cooked_slave], [], [], 0)[0], [])
os.write(cooked, b"ne\n")
equal(os.read(cooked_slave, 100), b"half a line\n")
equal(os.read(cooked, 100), b"ne\r\n")
wanted = (b"shown\r\n" * (shown // 6)) + b"shown"[: shown % 6]
data = b""
while len(data) < len(wanted):
    data += os.read(full, 65536)
equal((data == wanted, len(data)), (True, len(wanted)))
os.write(quiet, me.encode() + b"\n")
equal(os.read(quiet_slave, 100), me.encode() + b"\n")
equal(select.select([quiet], [], [], 0)[0], [])
fresh = os.open(os.path.join("/dev/pts", names[0].rpartition("/")[2]), os.O_RDWR | os.O_NOCTTY)
equal(os.fstat(fresh).st_rdev, os.fstat(raw_slave).st_rdev)
equal(os.ttyname(pty.openpty()[1]) in names, False)
os.close(hung)
equal(os.read(hung_slave, 10), b"")

# The shell: a pipeline in the foreground, its jobs, its variables, its size.
equal(foreground(shell_fd) != shell, True)
os.write(shell_fd, me.encode() + b"\n")
until(shell_fd, f"seen:{me}\r\n")
os.write(shell_fd, b"\x03")
wait_until(lambda: foreground(shell_fd) == shell, "back in the shell")
os.write(shell_fd, b"echo $kept $(stty size) && jobs\n")
until(shell_fd, r"before 33 111\r\n\[1\][^\n]*Running[^\n]*sleep 7001[^\n]*\n\[2\][^\n]*Stopped[^\n]*sleep 7002")
os.write(shell_fd, b"fg %2\n")
until(shell_fd, r"sleep 7002\r\n")
in_foreground(shell_fd, "sleep")
os.write(shell_fd, b"\x03")
wait_until(lambda: foreground(shell_fd) == shell, "back in the shell")
os.write(shell_fd, b"kill %1; wait; tty; exit 5\n")
until(shell_fd, r"/dev/pts/\d+\r\n")
equal(os.waitstatus_to_exitcode(os.waitpid(shell, 0)[1]), 5)

# The other session is told of a new size, reads its own terminal, and hears the end.
set_window(child_fd, 10, 99)
equal(os.read(reader, 100), b"99 columns;")
os.write(child_fd, me.encode() + b"\n")
equal(os.read(reader, 100), b"read %s\n;" % me.encode())
os.close(child_fd)
equal(os.read(reader, 100), b"the end")
os.waitpid(child, 0)
with open(HERE + "/new-terminal", "wb") as record:
    # script(1) and the like still get one.
    pid, fd = pty.fork()
    if pid == 0:
        os.execlp("tty", "tty")
    record.write(os.read(fd, 100))
    equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
done()
