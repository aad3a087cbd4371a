# SPDX-License-Identifier: Apache-2.0
"""TCP and UDP within the sandbox: listeners, connections on loopback and on the inner address, queues, half-closed ends."""

import select
import socket
import sys

from truth import checkpoint, done, equal

V4 = [("127.0.0.1", 5001), ("10.0.0.2", 5002), ("127.0.0.1", 5003)]


def listening(address: tuple, family: int = socket.AF_INET) -> socket.socket:
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.listen(16)
    return listener


def connected(listener: socket.socket, address: tuple, family: int = socket.AF_INET) -> tuple[socket.socket, socket.socket]:
    client = socket.socket(family)
    client.connect(address)
    server, _ = listener.accept()
    return client, server


listeners = [listening(address) for address in V4]
wide = listening(("0.0.0.0", 5004))
v6 = listening(("::", 5005), socket.AF_INET6)
pairs = [connected(listener, address) for listener, address in zip(listeners, V4, strict=True)]
pairs += [connected(listeners[0], V4[0]) for _ in range(20)]
pairs.append(connected(wide, ("10.0.0.2", 5004)))
pairs.append(connected(v6, ("::1", 5005), socket.AF_INET6))
pairs.append(connected(v6, ("127.0.0.1", 5005)))
pairs[1][0].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
# Unread data, both ways, more than a little.
for client, server in pairs:
    client.sendall(b"request")
    server.sendall(b"r" * 20_000)
# One end has shut its writing down; one is closed and gone.
half_client, half_server = connected(listeners[2], V4[2])
half_client.sendall(b"last words")
half_client.shutdown(socket.SHUT_WR)
gone_client, gone_server = connected(listeners[2], V4[2])
gone_client.sendall(b"from the grave")
gone_client.close()
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("10.0.0.2", 5006))
udp_client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp_client.connect(("10.0.0.2", 5006))
udp_out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp_out.connect(("192.0.2.1", 53)) if len(sys.argv) > 1 else None
udp_wide = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
udp_wide.bind(("::", 5007))
udp_wide.settimeout(5)
udp_pair = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
for sock in udp_pair:
    sock.bind(("127.0.0.1", 0))
    sock.settimeout(5)
udp_ports = [sock.getsockname()[1] for sock in udp_pair]
udp_pair[0].connect(("127.0.0.1", udp_ports[1]))
udp_pair[1].connect(("127.0.0.1", udp_ports[0]))
poller = select.epoll()
poller.register(listeners[0], select.EPOLLIN)
poller.register(pairs[0][0], select.EPOLLIN)

me = checkpoint().encode()


def take(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = sock.recv(count - len(data))
        if not chunk:
            raise AssertionError(f"the end after {len(data)} of {count} bytes")
        data += chunk
    return data


for client, server in [*pairs, (half_client, half_server)]:
    for sock in (client, server):
        sock.settimeout(5)
for client, server in pairs:
    equal(take(server, 7), b"request")
    equal(take(client, 20_000), b"r" * 20_000)
    # The connection goes on: a little and a lot, both ways.
    client.sendall(me)
    equal(take(server, len(me)), me)
    server.sendall(me * 3_000)
    equal(take(client, len(me) * 3_000), me * 3_000)
equal(pairs[1][0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0, True)
equal(take(half_server, 10), b"last words")
equal(half_server.recv(10), b"")
half_server.sendall(me)
equal(take(half_client, len(me)), me)
if me.startswith((b"parent", b"child")):
    # With nobody at its other end the kernel resets it in the child; what was unread can still be read there, but is not
    # taken along a second time.
    equal(take(gone_server, 14), b"from the grave")
    equal(gone_server.recv(10), b"")
pairs[0][0].close()
equal(pairs[0][1].recv(10), b"")
# Listeners take new connections, on the same ports.
for listener, address in [*zip(listeners, V4, strict=True), (wide, ("127.0.0.1", 5004))]:
    client, server = connected(listener, address)
    client.sendall(me)
    equal(take(server, len(me)), me)
udp_client.send(me)
data, sender = udp.recvfrom(100)
equal((data, sender), (me, udp_client.getsockname()))
udp.sendto(me + b" back", sender)
equal(udp_client.recv(100), me + b" back")
equal([sock.getsockname()[1] for sock in udp_pair], udp_ports)
for left, right in (udp_pair, udp_pair[::-1]):
    left.send(me)
    equal(right.recv(100), me)
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "10.0.0.2")):
    with socket.socket(family, socket.SOCK_DGRAM) as fresh:
        fresh.sendto(me, (address, 5007))
        equal(udp_wide.recv(100), me)
done()
