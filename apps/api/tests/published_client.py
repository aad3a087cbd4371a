# SPDX-License-Identifier: Apache-2.0
"""What a trainer does with the published client, unmodified; prints what it saw as one JSON object for the test to look at."""

import json
import sys
import threading

import collimate_rl
from collimate_rl import GatewayClient, GatewayError, Ready, Sandbox, Template, TemplateBakeFailed, connect
from collimate_rl.rewards import UnitTestReward, grade_batch

seen = {"version": collimate_rl.__version__}

client = connect()
seen["client"] = type(client).__name__
seen["health"] = client.health()["status"]

handle = Template.bake(client, name="swe-rollout", image="registry.test/i@sha256:1", ready=Ready(cmd="true"), width=8)
again = Template.bake(client, name="swe-rollout", image="registry.test/i@sha256:1", ready=Ready(cmd="true"), width=8)
seen["same_template"] = handle.id == again.id
status = handle.wait(timeout=20, poll_interval=0.1)
seen["status"] = {
    "phase": status.phase,
    "declared": status.declared,
    "total": status.total,
    "converged": status.converged,
    "bake_mode": status.bake_mode,
}
seen["attached"] = Template.attach(client, handle.id).name

with client.session(handle, label="parent") as session:
    result = session.exec(code="import sys; print('out', end=''); print('err', end='', file=sys.stderr); sys.exit(3)")
    seen["exec"] = {
        "stdout": result.stdout,
        "stderr": result.stderr,
        "exit_code": result.exit_code,
        "ok": result.ok,
        "seed_ack": result.seed_ack,
        "seed": len(result.seed),
    }
    session.exec(command="true", seed="0f" * 32, timeout_seconds=5)
    with session.fork_group(40, labels=[str(i) for i in range(40)]) as group:
        seen["fork"] = {"children": len(group), "distinct": len({c.session_id for c in group})}
        answers = group.map(lambda i, child: child.exec(code=f"print({i} * {i})", timeout_seconds=20))
        seen["squares"] = [int(a.stdout) for a in answers] == [i * i for i in range(40)]
        seen["listed"] = len(client.list_sandboxes())
        child = group[0]
        child.upload_bytes("/tmp/published-client-test.bin", bytes(range(256)) * 1000)
        seen["round_trip"] = child.download("/tmp/published-client-test.bin") == bytes(range(256)) * 1000
    seen["after_group"] = len(client.list_sandboxes())
    session.suspend()
    session.resume()
    seen["row"] = {k: client.get_sandbox(session.id)[k] for k in ("session_id", "template_id", "state")}
seen["after_session"] = len(client.list_sandboxes())

with client.env("swe-rollout", width=8) as env, env.sandbox(label="by name") as session:
    seen["env"] = session.exec(command="echo env").stdout

with Sandbox(handle.id, client=client) as sandbox:
    seen["sandbox"] = sandbox.exec("print('positional')").stdout
    seen["warm_hit"] = sandbox.warm_hit

grades = grade_batch(
    client,
    handle.id,
    ["def solve(x):\n    return x + 1", "def solve(x):\n    return x"],
    UnitTestReward(tests=[{"input": 1, "expected": 2}]),
    concurrency=2,
)
seen["rewards"] = [g.reward for g in grades]


def error_of(call):
    try:
        call()
    except GatewayError as error:
        return {"type": type(error).__name__, "status": error.status, "code": error.code, "message": str(error)}
    return None


seen["errors"] = {
    "unknown": error_of(lambda: client.get_sandbox("sb_none")),
    "width": error_of(lambda: client.session("no-such-template").open()),
    "key": error_of(lambda: GatewayClient(api_key="col_pro_aaaaaaaa_" + "0" * 32, base_url=client.base).list_sandboxes()),
    "seed": error_of(lambda: Sandbox(handle.id, client=client).exec(command="true", seed="xyz")),
}
seen["delete_unknown"] = client.delete_sandbox("sb_none")["deleted"]

failing = Template.bake(client, name="bad", image="registry.test/bad@sha256:2", ready=Ready(cmd="exit 3"), width=1)
try:
    failing.wait(timeout=20, poll_interval=0.1)
except TemplateBakeFailed as error:
    seen["bake_failed"] = {"message": str(error), "error": error.status.error, "phase": error.status.phase}

threads = [threading.Thread(target=client.list_templates) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

for row in client.list_sandboxes():
    client.delete_sandbox(row["id"])
seen["left"] = len(client.list_sandboxes())
totals = client.usage()["totals"]
seen["usage"] = {"sandboxes": totals["sandboxes"], "live": totals["live_seconds"] > 0}
seen["template_deleted"] = client.delete_template(handle.id)

json.dump(seen, sys.stdout)
