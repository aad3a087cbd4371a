# SPDX-License-Identifier: Apache-2.0
"""Connections to a server outside, busy both ways: the parent keeps them to the byte, in children they are closed."""

import errno
import socket
import threading

from truth import checkpoint, done, equal

SERVER = "203.0.113.1"
RECORD = 1024
FILLER = bytes(range(256)) * 4


def record(number: int) -> bytes:
    return number.to_bytes(8, "little") + FILLER[: RECORD - 8]


LAST = record(2**64 - 1)


class Stream:
    def __init__(self) -> None:
        self.socket = socket.create_connection((SERVER, 7000), timeout=20)
        self.socket.settimeout(None)
        self.sent = self.received = 0
        self.read_end = self.write_end = "none"
        self.rest, self.fault = b"", ""
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=target, daemon=True) for target in (self.read, self.write)]
        for thread in self.threads:
            thread.start()

    def read(self) -> None:
        try:
            while data := self.socket.recv(262_144):
                self.rest = self.check(self.rest + data)
            self.read_end = "end"
        except OSError as error:
            self.read_end = errno.errorcode[error.errno]

    def check(self, data: bytes) -> bytes:
        whole = len(data) // RECORD * RECORD
        for at in range(0, whole, RECORD):
            if data[at:].startswith(LAST):
                return data[at:]
            if data[at : at + RECORD] != record(self.received):
                self.fault = f"record {self.received} is missing"
            self.received += 1
        return data[whole:]

    def write(self) -> None:
        try:
            while not self.stop.wait(0.001):
                self.socket.sendall(b"".join(map(record, range(self.sent, self.sent + 64))))
                self.sent += 64
            self.socket.shutdown(socket.SHUT_WR)
            self.write_end = "shut"
        except OSError as error:
            self.write_end = errno.errorcode[error.errno]

    def join(self) -> None:
        for thread in self.threads:
            thread.join(20)
            equal(thread.is_alive(), False)


def greeting(name: str, host: str = SERVER) -> str:
    with socket.create_connection((host, 7003), timeout=10) as connection, connection.makefile("rw") as file:
        file.write(name + "\n")
        file.flush()
        return file.readline()


equal(greeting("before"), "203.0.113.2 before\n")
idle = socket.create_connection((SERVER, 7003), timeout=10)
streams = [Stream() for _ in range(4)]
while any(stream.received < 2_000 or stream.sent < 2_000 for stream in streams):
    equal([stream.read_end for stream in streams], ["none"] * 4)

me = checkpoint()
if me == "parent":
    for stream in streams:
        equal((stream.read_end, stream.write_end), ("none", "none"))
        stream.stop.set()
    for stream in streams:
        stream.join()
        equal((stream.read_end, stream.write_end), ("end", "shut"))
        equal((stream.rest, stream.fault), (LAST + record(stream.sent), ""))
    idle.sendall(b"still here\n")
    equal(idle.recv(100), b"203.0.113.2 still here\n")
else:
    for stream in streams:
        stream.join()
        equal((stream.read_end, stream.write_end), ("end", "EPIPE"))
        try:
            stream.socket.getpeername()
            raise AssertionError("a closed connection has a peer")
        except OSError as error:
            equal(errno.errorcode[error.errno], "ENOTCONN")
    equal(idle.recv(100), b"")
equal(greeting(me), f"203.0.113.2 {me}\n")
equal(greeting(me, "server.test"), f"203.0.113.2 {me}\n")
done()
