# SPDX-License-Identifier: Apache-2.0
"""UDP sockets that speak with the outside, bound or connected: each sandbox gets the answers to what it asked, and no other's."""

import socket

from truth import checkpoint, done, equal

SERVER = ("203.0.113.1", 7002)


def made(address: tuple | None, connected: bool) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(5)
    if address:
        sock.bind(address)
    if connected:
        sock.connect(SERVER)
    return sock


sockets = [made(address, connected) for address in (None, ("0.0.0.0", 5353), ("10.0.0.2", 5354)) for connected in (False, True) if address is None or address[1] != 5354 or connected]
sockets.append(made(("10.0.0.2", 5355), False))


def echo(sock: socket.socket, word: bytes) -> bytes:
    for _ in range(3):  # a packet may be lost
        sock.sendto(word, SERVER) if not is_connected(sock) else sock.send(word)
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


for sock in sockets:
    equal(is_connected(sock) or sock.sendto(b"before", SERVER) == 6, True)
ports = [sock.getsockname()[1] for sock in sockets]
me = checkpoint().encode()
for index, sock in enumerate(sockets):
    word = me + b" " + str(index).encode()
    equal(echo(sock, word), word)
equal([sock.getsockname()[1] for sock in sockets], ports)
done()
