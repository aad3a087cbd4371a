# SPDX-License-Identifier: Apache-2.0
"""Pipes and FIFOs with data in flight, full, half-closed; socketpairs and unix sockets of each kind."""

import fcntl
import os
import socket
import threading

from truth import HERE, checkpoint, done, equal

# Data in flight; a full pipe of an unusual size; a reader whose writers are gone.
read, write = os.pipe()
os.write(write, b"in flight")
full_read, full_write = os.pipe()
size = fcntl.fcntl(full_write, fcntl.F_SETPIPE_SZ, 256 * 1024)
os.set_blocking(full_write, False)
filled = 0
try:
    while True:
        filled += os.write(full_write, b"x" * 4096)
except BlockingIOError:
    pass
closed_read, closed_write = os.pipe()
os.write(closed_write, b"last words")
os.close(closed_write)

# A FIFO with both ends open, one with a blocked opener.
os.mkfifo(HERE + "/fifo")
fifo = os.open(HERE + "/fifo", os.O_RDWR)
os.write(fifo, b"in the fifo")
os.mkfifo(HERE + "/blocked")
opened: list[bytes] = []


def open_blocked() -> None:
    with open(HERE + "/blocked", "rb") as file:
        opened.append(file.read())


opener = threading.Thread(target=open_blocked)
opener.start()

# Unix sockets.
left, right = socket.socketpair()
left.sendall(b"stream")
dgram_left, dgram_right = socket.socketpair(type=socket.SOCK_DGRAM)
dgram_left.send(b"one")
dgram_left.send(b"two")
seq_left, seq_right = socket.socketpair(type=socket.SOCK_SEQPACKET)
seq_left.send(b"packet one")
seq_left.send(b"packet two")
half_left, half_right = socket.socketpair()
half_left.sendall(b"then the end")
half_left.shutdown(socket.SHUT_WR)


def served(address: str) -> tuple[socket.socket, socket.socket, socket.socket]:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(8)
    client = socket.socket(socket.AF_UNIX)
    client.connect(address)
    server, _ = listener.accept()
    client.sendall(b"request")
    return listener, client, server


by_path = served(HERE + "/socket")
abstract = served("\0truth")
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(HERE + "/dgram")
sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
sender.connect(HERE + "/dgram")
sender.send(b"datagram")
abstract_receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
abstract_receiver.bind("\0truth-dgram")
abstract_sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
abstract_sender.sendto(b"to a name", "\0truth-dgram")
# A descriptor on its way, which nobody else has open.
carried_read, carried_write = os.pipe()
os.write(carried_write, b"carried")
carrier, carried_to = socket.socketpair()
socket.send_fds(carrier, [b"with it"], [carried_read])
os.close(carried_read)
# A name that is gone while its listener lives.
nameless = served(HERE + "/removed")
os.unlink(HERE + "/removed")

me = checkpoint()

equal(os.read(read, 100), b"in flight")
os.write(write, me.encode())
equal(os.read(read, 100), me.encode())
equal(fcntl.fcntl(full_read, fcntl.F_GETPIPE_SZ), size)
got = 0
while got < filled:
    chunk = os.read(full_read, 65536)
    equal(chunk, b"x" * len(chunk))
    got += len(chunk)
equal(got, filled)
equal(os.read(closed_read, 100), b"last words")
equal(os.read(closed_read, 100), b"")
equal(os.read(fifo, 100), b"in the fifo")
equal(opener.is_alive(), True)
with open(HERE + "/blocked", "wb") as file:
    file.write(me.encode())
opener.join(5)
equal(opened, [me.encode()])

equal(right.recv(100), b"stream")
right.sendall(me.encode())
equal(left.recv(100), me.encode())
equal((dgram_right.recv(100), dgram_right.recv(100)), (b"one", b"two"))
equal((seq_right.recv(100), seq_right.recv(100)), (b"packet one", b"packet two"))
equal(half_right.recv(100), b"then the end")
equal(half_right.recv(100), b"")
half_right.sendall(b"back")
equal(half_left.recv(100), b"back")
for _, client, server in (by_path, abstract, nameless):
    equal(server.recv(100), b"request")
    server.sendall(me.encode())
    equal(client.recv(100), me.encode())
for address, (listener, _, _) in ((HERE + "/socket", by_path), ("\0truth", abstract)):
    with socket.socket(socket.AF_UNIX) as fresh:
        fresh.connect(address)
        accepted, _ = listener.accept()
        # A descriptor goes across.
        socket.send_fds(fresh, [me.encode()], [read])
        data, fds, _, _ = socket.recv_fds(accepted, 100, 1)
        equal(data, me.encode())
        equal(os.fstat(fds[0]).st_ino, os.fstat(read).st_ino)
equal(receiver.recv(100), b"datagram")
sender.send(me.encode())
equal(receiver.recv(100), me.encode())
equal(abstract_receiver.recv(100), b"to a name")
abstract_sender.sendto(me.encode(), "\0truth-dgram")
equal(abstract_receiver.recv(100), me.encode())
data, fds, _, _ = socket.recv_fds(carried_to, 100, 1)
equal((data, os.read(fds[0], 100)), (b"with it", b"carried"))
os.write(carried_write, me.encode())
equal(os.read(fds[0], 100), me.encode())
done()
