# SPDX-License-Identifier: Apache-2.0
"""What a trainer on the node does with a Python client; prints what it saw as one JSON object for the test to look at."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import collimate_rl
from collimate_rl import CollimateError, Sandbox, connect

template = sys.argv[1]
client = connect()
seen = {"version": collimate_rl.__version__, "client": type(client).__name__}
seen["status"] = client.health()["status"]
seen["templates"] = template in client.templates()

with Sandbox(template, client=client) as sandbox:
    code = "import sys; print('out', end=''); print('err', end='', file=sys.stderr); sys.exit(3)"
    result = sandbox.exec(code=code)
    seen["exec"] = {
        "stdout": result.stdout,
        "stderr": result.stderr,
        "exit_code": result.exit_code,
        "ok": result.ok,
        "seed": len(result.seed),
    }
    sandbox.exec(code="kept = [1, 2, 3]")
    seen["state"] = sandbox.exec(code="print(kept)").stdout
    rows = client.list_sessions()
    seen["listed"] = len(rows)
    info = client.get_session(rows[0]["session_id"])
    seen["info"] = info["template_id"] == template and info["exec_count"] == 3 and info["age_secs"] >= info["idle_secs"]
    seen["timed_out"] = sandbox.exec(command="sleep 30", timeout_seconds=1).exit_code
    if os.environ.get("WITH_FILES"):  # the published client sends files through exec
        data = bytes(range(256)) * 1000
        sandbox.upload_bytes("/tmp/file.bin", data)
        seen["round_trip"] = sandbox.download("/tmp/file.bin") == data
    with ThreadPoolExecutor(16) as pool:
        squares = list(pool.map(lambda i: int(sandbox.exec(command=f"echo $(({i} * {i}))").stdout), range(32)))
    seen["parallel"] = squares == [i * i for i in range(32)]

seen["listed_after"] = len(client.list_sessions())
seen["once"] = client.exec_once(template, command="echo once")["stdout"]
session = client.create_session(template)
seen["deleted"] = client.delete_session(session["session_id"])["deleted"]


def error_of(call):
    try:
        call()
    except CollimateError as error:
        return {"status": error.status, "code": error.error_code}
    return None


seen["errors"] = {
    "template": error_of(lambda: client.create_session("tpl_none")),
    "session": error_of(lambda: client.get_session("sb_none")),
    "exec": error_of(lambda: client.session_exec(session["session_id"], command="true")),
}
print(json.dumps(seen))
