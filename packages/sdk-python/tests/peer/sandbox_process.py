# SPDX-License-Identifier: Apache-2.0
"""One sandbox: a process with a persistent interpreter, which forks itself on request.

    python sandbox_process.py SOCKET LIFELINE

Serves one request per connection, a JSON line each way: {"code": ...} | {"argv": ...} | {"fork": [socket, ...]} |
{"end": true}. LIFELINE is a descriptor whose other end the peer holds: the family ends when the peer does, however that ends.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from typing import Any


def listen(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + ".new")
    listener.listen(16)
    # Whoever sees the name can connect.
    os.rename(path + ".new", path)
    return listener


def run_code(code: str, variables: dict[str, Any]) -> dict[str, Any]:
    out, err, exit_code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            exec(compile(code, "<code>", "exec"), variables)
        except SystemExit as leaving:
            exit_code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        except BaseException:
            traceback.print_exc()
            exit_code = 1
    return {"stdout": out.getvalue(), "stderr": err.getvalue(), "exit_code": exit_code}


def run_argv(argv: list[str]) -> dict[str, Any]:
    if argv[0] == "python":
        argv = [sys.executable, *argv[1:]]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return {"stdout": done.stdout, "stderr": done.stderr, "exit_code": done.returncode}


def end_with_peer(lifeline: int) -> None:
    """A read returns at the end of the peer. (Not PR_SET_PDEATHSIG, since the thread that started us ends before it.)"""

    def watch() -> None:
        os.read(lifeline, 1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def serve(listener: socket.socket, lifeline: int) -> None:
    end_with_peer(lifeline)
    variables: dict[str, Any] = {"__name__": "__main__"}
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rw") as stream:
            request = json.loads(stream.readline())
            if "end" in request:
                os._exit(0)
            if "fork" in request:
                # Every child listens before the parent answers.
                for path in request["fork"]:
                    listening, ready = os.pipe()
                    if os.fork() == 0:
                        # No thread but this one is inherited.
                        end_with_peer(lifeline)
                        listener.close()
                        listener = listen(path)
                        os.close(ready)
                        break
                    os.close(ready)
                    os.read(listening, 1)
                    os.close(listening)
                else:
                    json.dump({"pid": os.getpid()}, stream)
                continue
            answer = run_code(request["code"], variables) if "code" in request else run_argv(request["argv"])
            json.dump(answer, stream)


if __name__ == "__main__":
    serve(listen(sys.argv[1]), int(sys.argv[2]))
