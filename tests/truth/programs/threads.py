# SPDX-License-Identifier: Apache-2.0
"""Threads, held locks, waiters of every kind."""

import os
import threading
import time

from truth import checkpoint, done, equal

lock = threading.Lock()
condition = threading.Condition()
semaphore = threading.Semaphore(0)
barrier = threading.Barrier(4)
started = threading.Barrier(9)
seen: list[str] = []
counts = [0, 0]
stop = False


def waits(name: str, acquire) -> None:
    local = threading.local()
    local.name = name
    started.wait()
    acquire()
    seen.append(local.name)


def wait_condition() -> None:
    with condition:
        condition.wait_for(lambda: stop)


def locked() -> None:
    with lock:
        pass


def count(index: int) -> None:
    started.wait()
    while not stop:
        counts[index] += 1
        time.sleep(0.001)


def bound() -> None:
    """On a CPU of its own, unlike its process."""
    os.sched_setaffinity(threading.get_native_id(), [0])
    pinned.wait()
    released.wait()
    seen.append(f"on {sorted(os.sched_getaffinity(threading.get_native_id()))}")


lock.acquire()
pinned, released = threading.Barrier(2), threading.Event()
bound_thread = threading.Thread(target=bound)
bound_thread.start()
pinned.wait()
cpus = os.sched_getaffinity(0)
workers = [
    *[threading.Thread(target=waits, args=(f"lock{i}", locked)) for i in range(2)],
    threading.Thread(target=waits, args=("condition", wait_condition)),
    threading.Thread(target=waits, args=("semaphore", semaphore.acquire)),
    *[threading.Thread(target=waits, args=(f"barrier{i}", barrier.wait)) for i in range(2)],
    *[threading.Thread(target=count, args=(i,)) for i in range(2)],
]
for worker in workers:
    worker.start()
started.wait()
while min(counts) < 5 or barrier.n_waiting < 2:
    time.sleep(0.001)
before = list(counts)

checkpoint()

equal(seen, [])
equal(lock.locked(), True)
equal(threading.active_count(), 10)
equal(barrier.n_waiting, 2)
until = time.monotonic() + 5
while min(now - then for now, then in zip(counts, before, strict=True)) < 3 and time.monotonic() < until:
    time.sleep(0.001)
equal(all(now > then for now, then in zip(counts, before, strict=True)), True)
released.set()
bound_thread.join(5)
equal(seen, ["on [0]"])
equal(os.sched_getaffinity(0), cpus)
seen.clear()
stop = True
lock.release()
semaphore.release()
with condition:
    condition.notify_all()
for _ in range(2):
    threading.Thread(target=barrier.wait).start()
for worker in workers:
    worker.join(5)
    equal(worker.is_alive(), False)
equal(sorted(seen), ["barrier0", "barrier1", "condition", "lock0", "lock1", "semaphore"])
done()
