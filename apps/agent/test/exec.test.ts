// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { describe, expect, it, vi } from "vitest";
import { failureOf } from "./node/platform.ts";
import { initOf, processesOf } from "./node/leftovers.ts";
import { SETTLED, sharedNode } from "./node/shared-node.ts";

const node = sharedNode();

/** Command lines of what runs in this node's sandboxes. */
async function commandLines(nodeId: string): Promise<string[]> {
  const { pids } = await processesOf(nodeId);
  return Promise.all(
    pids.map(async (pid) => (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " ").trim()),
  );
}

describe("exec", () => {
  it("of 64 commands at once in one sandbox gives each its own answer", async () => {
    const { platform } = node;
    const sandbox = await platform.create(node.template);
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, i) => platform.exec(sandbox, { command: `echo ${i}; echo e${i} >&2; exit ${i}` })),
    );
    expect(answers.map(({ stdout, stderr, exit }) => [stdout, stderr, exit.exit_code])).toEqual(
      Array.from({ length: 64 }, (_, i) => [`${i}\n`, `e${i}\n`, i]),
    );
    await platform.delete(sandbox);
  });

  it("whose caller goes away ends with all that it started, and nothing else", async () => {
    const { platform } = node;
    const sandbox = await platform.create(node.template);
    await platform.shell(sandbox, "setsid sleep 7001 > /dev/null 2>&1 &");
    const caller = new AbortController();
    await platform.execStream(
      sandbox,
      { command: "sleep 7002 & (sleep 7003 & exec sleep 7004) & sleep 7005", timeout_seconds: 50 },
      caller.signal,
    );
    const asleep = async () => (await commandLines(platform.node.nodeId)).filter((line) => line.startsWith("sleep 700")).toSorted();
    await vi.waitFor(async () => expect(await asleep()).toHaveLength(5), SETTLED);
    caller.abort();
    await vi.waitFor(async () => expect(await asleep()).toEqual(["sleep 7001"]), SETTLED);
    await platform.delete(sandbox);
  });

  it("that uses up the sandbox's memory is killed, says why, and parent and siblings live on", async () => {
    const { platform } = node;
    const parent = await platform.create(node.template);
    const children = await platform.fork(parent, 2);
    const [greedy = "", sibling = ""] = children;
    const { exit } = await platform.exec(greedy, {
      command: "exec python3 -c 'x = bytearray(4 << 30)\nfor i in range(0, len(x), 4096): x[i] = 1'",
      timeout_seconds: 50,
    });
    expect(exit).toMatchObject({ exit_code: 137, signal: 9, oom_killed: true, timed_out: false });
    for (const id of [greedy, sibling, parent]) expect(await platform.shell(id, "echo lives")).toBe("lives\n");
    // Told once: the next one that is killed for another reason is not taken for it.
    expect((await platform.exec(greedy, { command: "kill -9 $$" })).exit).toMatchObject({ signal: 9, oom_killed: false });
    await platform.delete(parent, ...children);
  });

  it("cannot have more processes than the sandbox's limit, and the sandbox answers afterwards", async () => {
    const { platform } = node;
    const sandbox = await platform.create(node.template, { pids: 40 });
    const bomb =
      "import os, time\npids = []\ntry:\n  while True:\n    pid = os.fork()\n    if pid == 0: time.sleep(1000)\n    pids.append(pid)\nexcept OSError as e:\n  print(type(e).__name__, len(pids) < 40)\nfor pid in pids: os.kill(pid, 9)";
    const { stdout } = await platform.exec(sandbox, { commands: [["python3", "-c", bomb]], timeout_seconds: 40 });
    expect(stdout).toBe("BlockingIOError True\n");
    const kept = await platform.exec(sandbox, { command: "echo still here" });
    expect(kept.stdout).toBe("still here\n");
    await platform.delete(sandbox);
  });

  it("is refused without a token of that sandbox and tenant", async () => {
    const { platform } = node;
    const sandbox = await platform.create(node.template);
    const bare = await fetch(`${platform.node.url}/internal/sandboxes/${sandbox}/exec`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(bare.status).toBe(401);
    expect((await failureOf(platform.execStream(sandbox, { command: "true" }, undefined, "ten_other"))).code).toBe("not_found");
    await platform.delete(sandbox);
  });
});

describe("a sandbox whose init is killed", () => {
  it("is told as ended, and nothing of it is left", async () => {
    const { platform } = node;
    const before = await node.restingFootprint();
    const sandbox = await platform.create(node.template);
    const running = failureOf(platform.shell(sandbox, "sleep 1000"));
    process.kill(await initOf(platform.node.nodeId), "SIGKILL");
    const told = await platform.next(
      (report): report is Extract<typeof report, { kind: "exited" }> => report.kind === "exited" && report.sandboxId === sandbox,
    );
    expect(told.reason).toBe("its init ended");
    expect(await running).toMatchObject({ code: "session_gone" });
    await node.settlesAt(before);
  });
});
