// SPDX-License-Identifier: Apache-2.0
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { agentLineSchema, newId } from "@collimate/contracts";
import { type Ended, failureOf, RESOURCES, sandboxIds } from "./node/platform.ts";
import { sharedNode } from "./node/shared-node.ts";

const node = sharedNode();

describe("a fork of a sandbox in which a command runs", () => {
  it("loses no byte of its output in the parent, and its children answer", async () => {
    const { platform } = node;
    const parent = await platform.create(node.template);
    const lines = 20_000;
    // Waits in the middle until it is told that the fork is over: whatever is lost or sent twice breaks the count.
    const command = `i=0; while [ $i -lt ${lines} ]; do echo "line $i"; i=$((i+1)); if [ $i -eq ${lines / 2} ]; then touch /half; while [ ! -e /go ]; do sleep 0.02; done; fi; done`;
    const running = platform.exec(parent, { command, timeout_seconds: 50 });
    await platform.shell(parent, "while [ ! -e /half ]; do sleep 0.02; done");

    const children = await platform.fork(parent, 3);
    const answers = await Promise.all(children.map((child, i) => platform.shell(child, `test -e /half && echo ${i}`)));
    expect(answers).toEqual(["0\n", "1\n", "2\n"]);
    await platform.shell(parent, "touch /go");
    const { exit, stdout } = await running;
    expect(exit.exit_code).toBe(0);
    expect(stdout).toBe(Array.from({ length: lines }, (_, i) => `line ${i}\n`).join(""));
    await platform.delete(parent, ...children);
  });

  it("while it writes without a pause loses none either", async () => {
    const { platform } = node;
    const parent = await platform.create(node.template);
    const count = 300_000;
    const reply = await platform.execStream(parent, { command: `touch /started; seq 1 ${count}`, timeout_seconds: 50 });
    await platform.shell(parent, "while [ ! -e /started ]; do sleep 0.01; done");
    const [whole, children] = await Promise.all([reply.text(), platform.fork(parent, 2)]);
    const out = whole
      .split("\n")
      .filter(Boolean)
      .map((line) => agentLineSchema.parse(JSON.parse(line)));
    const stdout = Buffer.concat(out.flatMap((line) => (line.t === "o" ? [Buffer.from(line.d, "base64")] : []))).toString();
    expect(stdout).toBe(Array.from({ length: count }, (_, i) => `${i + 1}\n`).join(""));
    expect(out.at(-1)).toMatchObject({ t: "x", exit_code: 0 });
    await platform.delete(parent, ...children);
  });
});

describe("a delete of the parent during a fork", () => {
  it("ends both cleanly: whatever the fork answers is what lives", async () => {
    const { platform } = node;
    const parent = await platform.create(node.template);
    const children = sandboxIds(4);
    const forking = platform.send(platform.forkJob(parent, children));
    const deleting = platform.delete(parent);
    const [forked, deleted] = await Promise.all([forking, deleting]);
    expect(deleted.ended).toMatchObject([{ sandboxId: parent, existed: true }]);
    if (forked.kind === "finished") {
      for (const child of children) expect(await platform.shell(child, "echo lives")).toBe("lives\n");
      await platform.delete(...children);
    } else {
      expect(["session_gone", "not_found"]).toContain(forked.failure.code);
      for (const child of children) expect((await failureOf(platform.shell(child, "true"))).code).toBe("not_found");
    }
  });

  it("does so at the moment in which its snapshot is taken, too", async () => {
    const { platform } = node;
    const parent = await platform.create(node.template);
    // 64 MB that only the parent has: the checkpoint takes long enough to be met.
    await platform.python(parent, "import os; own = os.urandom(64 << 20)");
    const children = sandboxIds(2);
    const { snapshots } = (await node.footprint()).folders;
    const forking = platform.send(platform.forkJob(parent, children));
    await vi.waitFor(async () => expect(await readdir(join(platform.node.state, "snapshots"))).not.toEqual(snapshots), {
      timeout: 10_000,
      interval: 1,
    });
    await platform.delete(parent);
    const forked = await forking;
    if (forked.kind === "finished") await platform.delete(...children);
    else expect(forked.failure.code).toBe("session_gone");
  });

  it("leaves children that have been born alone", async () => {
    const { platform } = node;
    const parent = await platform.create(node.template);
    await platform.python(parent, "inherited = list(range(1000))");
    const children = await platform.fork(parent, 2);
    await platform.delete(parent);
    const grandchildren = (await Promise.all(children.map((child) => platform.fork(child, 2)))).flat();
    await platform.delete(...children);
    for (const id of grandchildren) expect(await platform.python(id, "print(sum(inherited))")).toBe("499500\n");
    await platform.delete(...grandchildren);
  });
});

describe("a job that comes twice", () => {
  it("has one effect and one answer, while it runs and after it", async () => {
    const { platform } = node;
    const parent = await platform.create(node.template);
    const children = sandboxIds(2);
    const job = platform.forkJob(parent, children);
    const answers = () => platform.reports.filter((report) => report.kind === "finished" && report.operationId === job.operationId);
    const first = await platform.send(job);
    await platform.python(children[0] ?? "", "mine = 1");
    await platform.queues.nodeQueue(platform.node.nodeId).repeat(job);
    const second = await platform.next(
      (report): report is typeof first => report !== first && report.kind === "finished" && report.operationId === job.operationId,
    );
    expect(answers().map((report) => report.kind === "finished" && report.result)).toEqual([
      second.kind === "finished" && second.result,
      first.kind === "finished" && first.result,
    ]);
    // Not made anew: what the first one got is still there.
    expect(await platform.python(children[0] ?? "", "print(mine)")).toBe("1\n");
    await platform.delete(parent, ...children);
  });

  it("as a later attempt joins the one that made its sandbox", async () => {
    const { platform, template } = node;
    const sandboxId = newId("sandbox");
    const job = {
      kind: "create",
      ...platform.base(),
      ...template,
      child: { sandboxId, seed: null },
      resources: RESOURCES,
      egress: null,
    } as const;
    const queue = platform.queues.nodeQueue(platform.node.nodeId);
    await Promise.all([queue.add(job), queue.add({ ...job, attempt: 1 })]);
    const first = await platform.next((report): report is Ended => report.kind === "finished" && report.operationId === job.operationId);
    const second = await platform.next(
      (report): report is Ended => report !== first && report.kind === "finished" && report.operationId === job.operationId,
    );
    expect(second).toMatchObject({ result: first.kind === "finished" ? first.result : undefined });
    expect(await platform.shell(sandboxId, "echo lives")).toBe("lives\n");
    await platform.delete(sandboxId);
  });

  it("as a later attempt runs when the one before had failed", async () => {
    const { platform, template } = node;
    const sandboxId = newId("sandbox");
    const obstacle = join(platform.node.state, "sandboxes", sandboxId);
    await writeFile(obstacle, "in the way");
    const job = {
      kind: "create",
      ...platform.base(),
      ...template,
      child: { sandboxId, seed: null },
      resources: RESOURCES,
      egress: null,
    } as const;
    expect(await platform.send(job)).toMatchObject({ kind: "failed", failure: { code: "create_failed" } });
    await rm(obstacle);
    await platform.queues.nodeQueue(platform.node.nodeId).add({ ...job, attempt: 1 });
    await platform.next((report): report is Ended => report.kind === "finished" && report.operationId === job.operationId);
    await platform.delete(sandboxId);
  });
});
