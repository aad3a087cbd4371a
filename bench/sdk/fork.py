# SPDX-License-Identifier: Apache-2.0
"""Forks a live sandbox of a running platform as a program does, and prints one line of JSON per run: how long until every
child has answered, from the call. Reads what to fork from standard input; `connect()` finds the platform."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from collimate_rl import Ready, Template, connect

BAKE_LIMIT_SECONDS = 600


def main() -> None:
    what = json.load(sys.stdin)
    client: Any = connect()
    ready = Ready(cmd=f"python -c '{what['build']}'")
    handle = Template.bake(client, name=what["name"], image=what["image"], ready=ready, width=what["width"])
    status = handle.wait(timeout=BAKE_LIMIT_SECONDS)
    if status.phase != "Live":
        raise SystemExit(f"the template is {status.phase}, not Live: {status.error}")
    for _ in range(what["runs"] + 1):  # The first finds memory that the machine has not used lately.
        print(json.dumps(one_run(client, handle, what)), flush=True)


def one_run(client: Any, handle: Any, what: dict[str, Any]) -> dict[str, Any]:
    with client.session(handle) as session:
        checked(session.exec(code=what["write"]))
        called = time.perf_counter()
        with session.fork_group(what["width"]) as group:
            forked = time.perf_counter()
            answers = group.exec_each(code=what["ask"])
            answered = time.perf_counter()
            if any(checked(answer) != what["answer"] for answer in answers):
                raise SystemExit("a child has another state")
            inside = [json.loads(checked(group[at].exec(code=what["inside"]))) for at in (0, what["width"] - 1)]
            raw = group.raw
    return {
        "forkMs": (forked - called) * 1000,
        "answeredMs": (answered - called) * 1000,
        "agentMs": raw["fork_time_ms"],
        "pauseMs": raw["pause_ms"],
        "inside": inside,
    }


def checked(result: Any) -> str:
    if not result.ok:
        raise SystemExit(f"exit code {result.exit_code} in a sandbox: {result.stderr[-2000:]}")
    return str(result.stdout)


if __name__ == "__main__":
    main()
