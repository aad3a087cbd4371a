# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint could not take is not there for programs, with the answer after which they do without it."""

import ctypes
import errno
import os
import socket

from truth import checkpoint, done, equal

libc = ctypes.CDLL(None, use_errno=True)
IO_URING_SETUP, IPPROTO_MPTCP = 425, 262


def error_of(call) -> int:
    ctypes.set_errno(0)
    equal(call(), -1)
    return ctypes.get_errno()


def answers() -> list[int]:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)
        multipath = 0
    except OSError as error:
        multipath = error.errno
    return [
        error_of(lambda: libc.syscall(IO_URING_SETUP, 8, ctypes.create_string_buffer(120))),
        error_of(lambda: libc.mq_open(b"/queue", os.O_CREAT | os.O_RDWR, 0o600, None)),
        multipath,
    ]


wanted = [errno.ENOSYS, errno.ENOSYS, errno.EPROTONOSUPPORT]
equal(answers(), wanted)
checkpoint()
equal(answers(), wanted)
done()
