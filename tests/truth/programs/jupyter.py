# SPDX-License-Identifier: Apache-2.0
"""A Jupyter kernel with its client: variables, threads and the sockets between the two live on."""

from jupyter_client.manager import start_new_kernel
from truth import checkpoint, done, equal

# Without its history, which is an SQLite database that is open: it could not be written in a child (see the README).
arguments = ["--HistoryManager.enabled=False"]
manager, client = start_new_kernel(kernel_name="python3", startup_timeout=60, extra_arguments=arguments)


def run(code: str, using) -> str:
    said: list[str] = []

    def hear(message: dict) -> None:
        if message["msg_type"] == "error":
            said.append("\n".join(message["content"]["traceback"]))
        elif message["msg_type"] == "stream":
            said.append(message["content"]["text"])

    reply = using.execute_interactive(code, timeout=60, output_hook=hear)
    equal((reply["content"]["status"], *said)[0], "ok")
    return "".join(said)


run("import threading, queue; q = queue.Queue(); r = []\nthreading.Thread(target=lambda: r.append(q.get()), daemon=True).start()", client)
run("x = 41", client)

me = checkpoint()

equal(run("print(x + 1)", client), "42\n")
equal(run(f"q.put({me!r})\nwhile not r: pass\nprint(r[0])", client), f"{me}\n")
equal(client.hb_channel.is_beating(), True)
equal(manager.is_alive(), True)
second = manager.blocking_client()
second.start_channels()
second.wait_for_ready(timeout=60)
equal(run("x += 1\nprint(x)", second), "42\n")
equal(run("print(x)", client), "42\n")
second.stop_channels()
client.shutdown()
done()
