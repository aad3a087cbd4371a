# SPDX-License-Identifier: Apache-2.0
"""UDP sockets that speak with the outside, bound or connected: each sandbox gets the answers to what it asked, and no other's."""

import socket

from truth import checkpoint, done, equal

SERVER = ("203.0.113.1", 7002)


def made(address: tuple | None, *, connected: bool) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(5)
    if address:
        sock.bind(address)
    if connected:
        sock.connect(SERVER)
    return sock


sockets = [
    made(None, connected=True),
    made(("0.0.0.0", 5351), connected=False),
    made(("0.0.0.0", 5352), connected=True),
    made(("10.0.0.2", 5353), connected=False),
    made(("10.0.0.2", 5354), connected=True),
]


def echo(sock: socket.socket, word: bytes) -> bytes:
    for _ in range(3):  # a packet may be lost
        say(sock, word)
        try:
            while (answer := sock.recv(100)) == b"before":
                pass
            return answer
        except TimeoutError:
            continue
    return b"no answer"


def is_connected(sock: socket.socket) -> bool:
    try:
        return sock.getpeername() == SERVER
    except OSError:
        return False


def say(sock: socket.socket, word: bytes) -> None:
    if is_connected(sock):
        sock.send(word)
    else:
        sock.sendto(word, SERVER)


# The answers to these are on their way, or unread, when the sandbox is forked.
for sock in sockets:
    say(sock, b"before")
equal([is_connected(sock) for sock in sockets], [True, False, True, False, True])
ports = [sock.getsockname()[1] for sock in sockets]
me = checkpoint().encode()
for index, sock in enumerate(sockets):
    word = me + b" " + str(index).encode()
    equal(echo(sock, word), word)
equal([sock.getsockname()[1] for sock in sockets], ports)
done()
