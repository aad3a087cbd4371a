# SPDX-License-Identifier: Apache-2.0
"""Clocks, and everything that waits for one: sleeps and timed waits of every kind, alarms, interval and POSIX timers."""

import ctypes
import select
import signal
import socket
import subprocess
import threading
import time

from truth import checkpoint, done, equal

WAIT = 1.5
CLOCKS = {"monotonic": time.CLOCK_MONOTONIC, "boot": time.CLOCK_BOOTTIME, "raw": time.CLOCK_MONOTONIC_RAW, "wall": time.CLOCK_REALTIME}
libc = ctypes.CDLL(None, use_errno=True)


class Event(ctypes.Structure):
    """struct sigevent: the value, the signal, how to tell."""

    _fields_ = [("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("notify", ctypes.c_int), ("padding", ctypes.c_char * 48)]


def posix_timer(clock: int, number: int) -> None:
    timer = ctypes.c_void_p()
    equal(libc.timer_create(clock, ctypes.byref(Event(signal=number)), ctypes.byref(timer)), 0)
    equal(libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, int(WAIT), int(WAIT % 1 * 1e9)), None), 0)


def lock_timeout() -> None:
    lock = threading.Lock()
    lock.acquire()
    equal(lock.acquire(timeout=WAIT), False)


def socket_timeout() -> None:
    left, _right = socket.socketpair()
    left.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, (int(WAIT)).to_bytes(8, "little") + int(WAIT % 1 * 1e6).to_bytes(8, "little"))
    try:
        left.recv(1)
    except BlockingIOError:
        return
    raise AssertionError("something was received")


def signal_wait() -> None:
    equal(signal.sigtimedwait([signal.SIGRTMIN + 9], WAIT), None)


def absolute_sleep() -> None:
    now = time.clock_gettime(time.CLOCK_MONOTONIC) + WAIT
    libc.clock_nanosleep(time.CLOCK_MONOTONIC, 1, (ctypes.c_long * 2)(int(now), int(now % 1 * 1e9)), None)


WAITS = {
    "sleep": lambda: time.sleep(WAIT),
    "absolute sleep": absolute_sleep,
    "poll": lambda: select.poll().poll(WAIT * 1000),
    "select": lambda: select.select([], [], [], WAIT),
    "epoll": lambda: select.epoll().poll(WAIT),
    "event": lambda: threading.Event().wait(WAIT),
    "lock": lock_timeout,
    "receive": socket_timeout,
    "signal": signal_wait,
    "process": lambda: subprocess.run(["sleep", str(WAIT)]),
    "shell": lambda: subprocess.run(["bash", "-c", f"read -t {WAIT} < <(sleep 60)"]),
}
woke: dict[str, float] = {}


def wait(name: str) -> None:
    WAITS[name]()
    woke[name] = time.monotonic()


SIGNALS = {signal.SIGALRM: "alarm", signal.SIGRTMIN + 2: "POSIX timer", signal.SIGRTMIN + 3: "POSIX timer of the wall clock"}
for number, name in SIGNALS.items():
    signal.signal(number, lambda _, __, name=name: woke.setdefault(name, time.monotonic()))
began = {name: time.clock_gettime(clock) for name, clock in CLOCKS.items()}
signal.setitimer(signal.ITIMER_REAL, WAIT)
posix_timer(time.CLOCK_MONOTONIC, signal.SIGRTMIN + 2)
posix_timer(time.CLOCK_REALTIME, signal.SIGRTMIN + 3)
threads = [threading.Thread(target=wait, args=(name,)) for name in WAITS]
for thread in threads:
    thread.start()
time.sleep(0.2)
last = {name: time.clock_gettime(clock) for name, clock in CLOCKS.items()}

checkpoint()

for name, clock in CLOCKS.items():
    equal((name, last[name] <= time.clock_gettime(clock) < last[name] + 30), (name, True))
end = time.monotonic() + 10
while len(woke) < len(WAITS) + len(SIGNALS) and time.monotonic() < end:
    time.sleep(0.01)
equal(sorted(woke), sorted([*WAITS, *SIGNALS.values()]))
# Never before the time is over, and not long after the later of that and the moment at which the sandbox went on.
late = {name: at - began["monotonic"] for name, at in woke.items() if not WAIT - 0.05 <= at - began["monotonic"] < 8}
equal(late, {})
done()
