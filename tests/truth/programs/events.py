# SPDX-License-Identifier: Apache-2.0
"""epoll (nested too), eventfd (a semaphore too), timerfd, signalfd, pidfd; blocked and pending signals."""

import ctypes
import os
import select
import signal
import struct
import time

from truth import checkpoint, done, equal

libc = ctypes.CDLL(None, use_errno=True)


def timerfd(after: float, every: float) -> int:
    fd = libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK)
    spec = struct.pack("@qqqq", int(every), int(every % 1 * 1e9), int(after), int(after % 1 * 1e9))
    equal(libc.timerfd_settime(fd, 0, spec, None), 0)
    return fd


event = os.eventfd(5, os.EFD_NONBLOCK)
tickets = os.eventfd(3, os.EFD_NONBLOCK | os.EFD_SEMAPHORE)
huge = os.eventfd(0, os.EFD_NONBLOCK)
os.eventfd_write(huge, 2**40 + 1)
once = timerfd(1.5, 0)
ticking = timerfd(0.2, 0.2)
far = timerfd(3600, 0)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGUSR2, signal.SIGRTMIN + 1])
mask = (ctypes.c_ulong * 16)(1 << (signal.SIGUSR1 - 1) | 1 << (signal.SIGRTMIN))
signals = libc.signalfd(-1, mask, os.O_NONBLOCK)
os.kill(os.getpid(), signal.SIGUSR1)
os.kill(os.getpid(), signal.SIGUSR2)
child = os.fork()
if child == 0:
    while True:
        signal.pause()
pidfd = os.pidfd_open(child)
inner = select.epoll()
inner.register(event, select.EPOLLIN)
outer = select.epoll()
outer.register(inner, select.EPOLLIN)
outer.register(pidfd, select.EPOLLIN)
outer.register(far, select.EPOLLIN | select.EPOLLONESHOT)
began = time.monotonic()

checkpoint()

equal(struct.unpack("@Q", os.read(event, 8))[0], 5)
# A semaphore gives its tickets one by one, here and to whoever shares it.
equal([os.eventfd_read(tickets) for _ in range(2)], [1, 1])
os.eventfd_write(tickets, 1)
equal([os.eventfd_read(tickets) for _ in range(2)], [1, 1])
equal(os.eventfd_read(huge), 2**40 + 1)
equal(outer.poll(0), [])
os.eventfd_write(event, 9)
equal(outer.poll(1), [(inner.fileno(), select.EPOLLIN)])
equal(inner.poll(1), [(event, select.EPOLLIN)])
equal(struct.unpack_from("@I", os.read(signals, 128))[0], signal.SIGUSR1)
equal(signal.sigpending(), {signal.SIGUSR2})
os.set_blocking(ticking, True)
equal(struct.unpack("@Q", os.read(ticking, 8))[0] >= 1, True)
os.set_blocking(once, True)
os.read(once, 8)
waited = time.monotonic() - began
equal(waited >= 1.4, True)
os.eventfd_read(event)
os.kill(child, signal.SIGTERM)
equal((pidfd, select.EPOLLIN) in outer.poll(5), True)
equal(os.waitid(os.P_PIDFD, pidfd, os.WEXITED).si_status, signal.SIGTERM)
done()
