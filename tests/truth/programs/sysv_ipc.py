# SPDX-License-Identifier: Apache-2.0
"""System V shared memory, semaphores and message queues; POSIX semaphores and message queues are files or not there."""

import ctypes

from truth import checkpoint, done, equal

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
IPC_CREAT, IPC_NOWAIT, SETVAL, GETVAL = 0o1000, 0o4000, 16, 12


class Message(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_long), ("text", ctypes.c_char * 32)]


memory = libc.shmget(0x7001, 1 << 20, IPC_CREAT | 0o600)
equal(memory >= 0, True)
address = libc.shmat(memory, None, 0)
ctypes.memmove(address, b"system five", 11)
semaphores = libc.semget(0x7002, 3, IPC_CREAT | 0o600)
for index in range(3):
    equal(libc.semctl(semaphores, index, SETVAL, index + 4), 0)
queue = libc.msgget(0x7003, IPC_CREAT | 0o600)
for kind, text in ((1, b"first"), (2, b"second")):
    equal(libc.msgsnd(queue, ctypes.byref(Message(kind, text)), 32, 0), 0)

me = checkpoint()

equal(ctypes.string_at(address, 11), b"system five")
ctypes.memmove(address, me.encode(), len(me))
other = libc.shmat(libc.shmget(0x7001, 0, 0), None, 0)
equal(ctypes.string_at(other, len(me)), me.encode())
equal([libc.semctl(libc.semget(0x7002, 0, 0), index, GETVAL) for index in range(3)], [4, 5, 6])
message = Message()
for kind, text in ((2, b"second"), (1, b"first")):
    equal(libc.msgrcv(libc.msgget(0x7003, 0), ctypes.byref(message), 32, kind, IPC_NOWAIT), 32)
    equal(message.text, text)
done()
