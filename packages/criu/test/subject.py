# SPDX-License-Identifier: Apache-2.0
"""A Python program for tests: threads, pipes, shared memory by fork, multiprocessing.

On SIGUSR1 it evaluates /command and writes the result to /answer.
"""

import collections
import multiprocessing
import os
import signal
import sys
import threading

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})

# Much of what an interpreter does with memory: many small objects, large lists, growing blocks.
words = {i: f"word {i}" for i in range(200_000)}
growing = list(range(300_000))
block = bytearray(os.urandom(1)) * (24 << 20)
block_sum = sum(block[::4096])
ticks = collections.Counter()
lock = threading.Lock()
locked_by_thread = threading.Event()


def hold_lock():
    with lock:
        locked_by_thread.set()
        release.wait()


release = threading.Event()
threading.Thread(target=hold_lock, daemon=True).start()
locked_by_thread.wait()

reader, writer = os.pipe()
to_child, child_end = os.pipe()
child = os.fork()
if child == 0:
    # Shares all of the above with its parent; upper-cases what comes through the pipe.
    while True:
        text = os.read(to_child, 100)
        os.write(writer, text.upper() + f" {len(words)}".encode())


def square(n):
    return n * n


def through_child(text):
    os.write(child_end, text.encode())
    return os.read(reader, 100).decode()


def grow():
    growing.extend(range(3_000_000))
    block.extend(bytes(48 << 20))
    return sum(growing[:300_000]) == sum(range(300_000)) and not any(block[24 << 20 :])


def kept():
    return len(words) == 200_000 and words[77_777] == "word 77777" and sum(block[::4096]) == block_sum


def lock_is_kept():
    held_before = lock.locked()
    release.set()
    with lock:
        return held_before


pool = multiprocessing.Pool(2) if sys.argv[1:] == ["pool"] else None


def pooled():
    return pool.map(square, range(10))


def answer(text):
    with open("/answer.new", "w") as file:
        file.write(text)
    os.rename("/answer.new", "/answer")


answer("ready")
while True:
    signal.sigwait({signal.SIGUSR1})
    with open("/command") as file:
        expression = file.read()
    try:
        answer(repr(eval(expression)))
    except Exception as error:
        answer(repr(error))
