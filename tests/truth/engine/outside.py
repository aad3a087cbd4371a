# SPDX-License-Identifier: Apache-2.0
"""The world outside of sandboxes, in a network namespace of its own.

    outside.py ROOTFS    # ROOTFS has git

| 7000 | streams of numbered records both ways; each end checks that none is missing |
| 7001 | what the other ports have seen, as JSON |
| 7002 | UDP: the packet comes back |
| 7003 | a line comes back with the caller's address before it |
| 53 | UDP: every name is 203.0.113.1 |
| 9418 | git daemon, at a pace at which a clone lasts for seconds |

Says "serving" when all of them listen; ends when its standard input does.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time

RECORD = 1024
FILLER = bytes(range(256)) * 4
LAST = 2**64 - 1
PACE = 256 * 1024
seen: list[dict] = []


def record(number: int) -> bytes:
    return number.to_bytes(8, "little") + FILLER[: RECORD - 8]


def send_records(connection: socket.socket, asked_to_stop: threading.Event) -> None:
    count = 0
    while not asked_to_stop.wait(0.001):
        connection.sendall(b"".join(map(record, range(count, count + 64))))
        count += 64


def stream(connection: socket.socket, entry: dict) -> None:
    stop = threading.Event()
    sender = threading.Thread(target=send_records, args=(connection, stop), daemon=True)
    sender.start()
    rest = b""
    try:
        while data := connection.recv(65536):
            data = rest + data
            whole = len(data) // RECORD * RECORD
            for at in range(0, whole, RECORD):
                if data[at : at + RECORD] != record(entry["received"]):
                    entry["fault"] = f"record {entry['received']} is missing"
                entry["received"] += 1
            rest = data[whole:]
        stop.set()
        sender.join()
        connection.sendall(record(LAST) + record(entry["received"]))
        entry["end"] = "closed"
    except OSError as error:
        entry["end"] = type(error).__name__
    finally:
        stop.set()
        connection.close()


def count_stream(connection: socket.socket, peer: tuple) -> None:
    entry = {"peer": f"{peer[0]}:{peer[1]}", "received": 0, "end": "open", "fault": ""}
    seen.append(entry)
    stream(connection, entry)


def report(connection: socket.socket, _peer: tuple) -> None:
    connection.sendall(json.dumps(seen).encode())
    connection.close()


def greet(connection: socket.socket, peer: tuple) -> None:
    with connection, connection.makefile("rw") as file:
        file.write(f"{peer[0]} {file.readline()}")


def pump(source: socket.socket, target: socket.socket, paced: bool) -> None:
    try:
        while data := source.recv(PACE):
            target.sendall(data)
            if paced:
                time.sleep(len(data) / PACE / 16)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        target.close()


def slow_git(connection: socket.socket, _peer: tuple) -> None:
    server = socket.create_connection(("127.0.0.1", 9419))
    threading.Thread(target=pump, args=(connection, server, False), daemon=True).start()
    pump(server, connection, True)


def serve(port: int, handle) -> None:
    listener = socket.create_server(("0.0.0.0", port), backlog=100)

    def accept() -> None:
        while True:
            threading.Thread(target=handle, args=listener.accept(), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def serve_udp(port: int, answer) -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("0.0.0.0", port))

    def loop() -> None:
        while True:
            data, peer = sock.recvfrom(2000)
            sock.sendto(answer(data), peer)

    threading.Thread(target=loop, daemon=True).start()


def resolve(query: bytes) -> bytes:
    """RFC 1035: the question again, and one address (none, for other types than A)."""
    end = query.index(0, 12) + 5
    is_a = query[end - 4 : end - 2] == b"\0\1"
    answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\x04" + socket.inet_aton("203.0.113.1")
    return query[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_a else b"\0\0") + b"\0\0\0\0" + query[12:end] + (answer if is_a else b"")


def start_git(rootfs: str) -> None:
    """A repository that does not compress, made and served by the git of the image. Mounts are this namespace's own."""
    for device in ("null", "urandom"):
        subprocess.run(["mount", "--bind", f"/dev/{device}", f"{rootfs}/dev/{device}"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", f"{rootfs}/srv"], check=True)
    make = """
        cd /srv && git init -q repo.git && cd repo.git && head -c 33554432 /dev/urandom > data
        git add data && git -c user.name=truth -c user.email=truth@example.org commit -qm data
    """
    inside = {"PATH": "/usr/sbin:/usr/bin:/bin", "HOME": "/srv"}
    subprocess.run(["chroot", rootfs, "sh", "-ec", make], check=True, env=inside)
    # By its own name: `git daemon` would start it as a child, which nobody ends.
    daemon = ["/usr/lib/git-core/git-daemon", "--export-all", "--base-path=/srv", "--listen=127.0.0.1", "--port=9419", "--reuseaddr"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", "chroot", rootfs, *daemon], env=inside, **quiet)
    until = time.monotonic() + 10
    while True:
        try:
            return socket.create_connection(("127.0.0.1", 9419)).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
os.umask(0o022)
start_git(sys.argv[1])
for port, handler in ((7000, count_stream), (7001, report), (7003, greet), (9418, slow_git)):
    serve(port, handler)
serve_udp(7002, lambda data: data)
serve_udp(53, resolve)
print("serving", flush=True)
sys.stdin.read()
