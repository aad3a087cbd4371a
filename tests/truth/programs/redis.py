# SPDX-License-Identifier: Apache-2.0
"""redis-server with a connected client: 60,000 keys, most deleted afterwards, memory purged, cleared memory taken."""

import socket
import subprocess
import time

from truth import HERE, checkpoint, done, equal

subprocess.Popen(["redis-server", "--port", "6390", "--save", "", "--daemonize", "no", "--dir", HERE, "--logfile", HERE + "/redis.log"])


def connect() -> socket.socket:
    until = time.monotonic() + 10
    while True:
        try:
            return socket.create_connection(("127.0.0.1", 6390))
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


class Client:
    def __init__(self) -> None:
        self.lines = connect().makefile("rwb")

    def send(self, *commands: tuple) -> list[bytes]:
        for command in commands:
            parts = [str(part).encode() for part in command]
            self.lines.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
        self.lines.flush()
        return [self.answer() for _ in commands]

    def answer(self) -> bytes:
        line = self.lines.readline().rstrip()
        if line[:1] == b"$":
            return b"" if line == b"$-1" else self.lines.read(int(line[1:]) + 2)[:-2]
        return line


VALUES = [f"value{i}" * 20 for i in range(60_000)]
KEPT = range(0, 60_000, 50)
client = Client()
while True:
    equal(set(client.send(*[("SET", f"key{i}", value) for i, value in enumerate(VALUES)])), {b"+OK"})

    me = checkpoint()

    # The connection of before, then a new one.
    for redis in (client, Client()):
        equal(redis.send(("GET", "key777")), [VALUES[777].encode()])
    client.send(*[("DEL", f"key{i}") for i in range(60_000) if i % 50])
    client.send(("MEMORY", "PURGE"))
    client.send(*[("SETBIT", f"bits{i}", 300_000, 1) for i in range(500)])
    equal(set(client.send(*[("BITCOUNT", f"bits{i}") for i in range(500)])), {b":1"})
    equal(client.send(*[("GET", f"key{i}") for i in KEPT]), [VALUES[i].encode() for i in KEPT])
    client.send(("SET", "me", me))
    equal(client.send(("GET", "me")), [me.encode()])
    client.send(*[("DEL", f"bits{i}") for i in range(500)])
    done()
