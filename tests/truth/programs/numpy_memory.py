# SPDX-License-Identifier: Apache-2.0
"""Arrays and bytearrays in four threads around malloc_trim; lists, bytearrays and arrays that grow after the checkpoint."""

import ctypes
import threading

import numpy as np
from truth import checkpoint, done, equal

LIBC = ctypes.CDLL(None)
MB = 1 << 20


def churn(wrong: list[str]) -> None:
    for turn in range(30):
        size = 50_000 * (1 + turn % 7)
        zeros = np.zeros(size, np.uint8)
        block = bytearray(size)
        if zeros.any() or any(block[::997]) or block.count(0) != size:
            wrong.append(f"new memory of turn {turn} is not zero")
        zeros[:] = 255
        block[:] = b"\xee" * size
        del zeros, block
        LIBC.malloc_trim(0)


while True:
    kept = [np.full(100_000, i + 1, np.uint8) for i in range(200)]
    grown_array = np.arange(10 * MB // 8)
    grown_bytes = bytearray(b"\x07" * (4 * MB))
    grown_list = list(range(500_000))

    me = checkpoint()

    del kept[1::2]
    LIBC.malloc_trim(0)
    wrong: list[str] = []
    threads = [threading.Thread(target=churn, args=(wrong,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(wrong, [])
    equal([array[0] for array in kept if (array == array[0]).all()], [i % 255 + 1 for i in range(0, 200, 2)])
    grown_array.resize(60 * MB // 8, refcheck=False)
    equal(bool((grown_array[: 10 * MB // 8] == np.arange(10 * MB // 8)).all()), True)
    equal(bool(grown_array[10 * MB // 8 :].any()), False)
    grown_bytes.extend(bytes(16 * MB))
    equal((grown_bytes.count(7), grown_bytes.count(0)), (4 * MB, 16 * MB))
    grown_list.extend(range(500_000, 2_000_000))
    equal(grown_list == list(range(2_000_000)), True)
    del kept, grown_array, grown_bytes, grown_list
    done()
