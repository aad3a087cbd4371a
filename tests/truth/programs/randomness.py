# SPDX-License-Identifier: Apache-2.0
"""Draws from every source of randomness before the fork and after it; what was drawn is compared from outside."""

import ctypes
import json
import os
import random
import secrets
import ssl
import subprocess
import threading
import uuid

from truth import checkpoint, done, write

try:
    import numpy
except ImportError:
    numpy = None

libc = ctypes.CDLL(None)
device = os.open("/dev/urandom", os.O_RDONLY)
own = random.Random(7)
generator = numpy.random.default_rng(7) if numpy else None


def from_libc(name: str) -> str:
    buffer = ctypes.create_string_buffer(16)
    getattr(libc, name)(buffer, 16, 0)
    return buffer.raw.hex()


def forked(draw) -> str:
    """By a process forked now, without exec: what the C library keeps is copied."""
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        os.write(write, draw().encode())
        os._exit(0)
    os.close(write)
    text = os.read(read, 1000).decode()
    os.close(read)
    os.waitpid(pid, 0)
    return text


FRESH = {
    "os.urandom": lambda: os.urandom(16).hex(),
    "os.getrandom": lambda: os.getrandom(16).hex(),
    "getrandom": lambda: from_libc("getrandom"),
    "arc4random": lambda: from_libc("arc4random_buf"),
    "device": lambda: os.read(device, 16).hex(),
    "uuid4": lambda: str(uuid.uuid4()),
    "secrets": lambda: secrets.token_hex(16),
    "SystemRandom": lambda: random.SystemRandom().randbytes(16).hex(),
    "new Random": lambda: random.Random().randbytes(16).hex(),
    "forked getrandom": lambda: forked(lambda: from_libc("getrandom")),
    "forked arc4random": lambda: forked(lambda: from_libc("arc4random_buf")),
}
if numpy:
    FRESH["new default_rng"] = lambda: numpy.random.default_rng().bytes(16).hex()
NEW_PROCESS = "import random, ssl, os; print(random.randbytes(16).hex(), ssl.RAND_bytes(16).hex(), hash('salt'))"
# What a program keeps in its memory goes on from there, in each child alike.
KEPT = {
    "random": lambda: random.randbytes(16).hex(),
    "own Random": lambda: own.randbytes(16).hex(),
    "OpenSSL": lambda: ssl.RAND_bytes(16).hex(),
    **({"numpy": lambda: numpy.random.bytes(16).hex(), "own Generator": lambda: generator.bytes(16).hex()} if numpy else {}),
}

drawn: dict[str, str] = {}
turn = threading.Barrier(4)


def draw_in_thread(number: int) -> None:
    for when in ("before", "after"):
        turn.wait()
        for name in ("getrandom", "arc4random"):
            for count in range(3):
                drawn[f"{when}: {name} in thread {number}, draw {count}"] = FRESH[name]()
        turn.wait()


threads = [threading.Thread(target=draw_in_thread, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
turn.wait()
turn.wait()
before = {f"before: {name}": draw() for name, draw in FRESH.items()} | drawn
for draw in KEPT.values():
    draw()

checkpoint()

fresh = {name: draw() for name, draw in FRESH.items()}
turn.wait()
turn.wait()
fresh |= {name: value for name, value in drawn.items() if name.startswith("after")}
for number, value in enumerate(subprocess.run(["python3", "-c", NEW_PROCESS], capture_output=True, text=True).stdout.split()):
    fresh[f"new process, {number}"] = value
kept = {name: draw() for name, draw in KEPT.items()}
write("draws", json.dumps({"before": before, "fresh": fresh, "kept": kept, "libc": os.confstr("CS_GNU_LIBC_VERSION")}))
done()
