# SPDX-License-Identifier: Apache-2.0
"""An asyncio program with a server, a client, sleepers and a subprocess; a multiprocessing pool with work under way."""

import asyncio
import itertools
import multiprocessing
import time

from truth import checkpoint, done, equal


def work(value: int) -> int:
    time.sleep(0.01)
    return value * value


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
    writer.close()


async def main(pool) -> None:
    results = pool.map_async(work, range(400), chunksize=1)
    server = await asyncio.start_server(echo, "127.0.0.1", 7000)
    reader, writer = await asyncio.open_connection("127.0.0.1", 7000)
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            ticks.append(time.monotonic())
            await asyncio.sleep(0.02)

    ticker = asyncio.create_task(tick())
    shell = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    waiting = asyncio.create_task(asyncio.sleep(2, "slept"))
    writer.write(b"before\n")
    await asyncio.sleep(0.1)
    me = await asyncio.to_thread(checkpoint)
    equal(await reader.readline(), b"BEFORE\n")
    writer.write(me.encode() + b"\n")
    equal(await reader.readline(), me.upper().encode() + b"\n")
    equal((await shell.communicate(me.encode()))[0], me.encode())
    equal(await waiting, "slept")
    ticker.cancel()
    steps = [later - earlier for earlier, later in itertools.pairwise(ticks)]
    equal(min(steps) >= 0, True)
    equal(await asyncio.to_thread(results.get, 10), [i * i for i in range(400)])
    writer.close()
    server.close()


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(3) as pool:
        asyncio.run(main(pool))
    done()
