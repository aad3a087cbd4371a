// SPDX-License-Identifier: Apache-2.0
/** Agents of their own: they are stopped, started again on what is on the disk, and started on a folder of another's. */
import { open, readdir, readFile, stat, truncate } from "node:fs/promises";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Heartbeat, newId } from "@collimate/contracts";
import { startStack, type Stack } from "@collimate/embedded";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { AgentProcess } from "./node/agent-process.ts";
import { processesOf } from "./node/leftovers.ts";
import { failureOf, Platform, RESOURCES, sandboxIds } from "./node/platform.ts";
import { SETTLED } from "./node/shared-node.ts";

let stack: Stack<"redis">;
beforeAll(async () => void (stack = await startStack("redis")));
afterAll(() => stack.stop());

const LIMIT = { timeout: 180_000 };
let count = 0;

async function withState(run: (...states: [string, string]) => Promise<void>): Promise<void> {
  const states: [string, string] = [await mkdtemp(join(tmpdir(), "collimate-art-")), await mkdtemp(join(tmpdir(), "collimate-art-"))];
  try {
    await run(...states);
  } finally {
    for (const state of states) await rm(state, { recursive: true, force: true });
  }
}

class Node implements AsyncDisposable {
  readonly agent: AgentProcess;
  readonly platform: Platform;

  private constructor(agent: AgentProcess) {
    this.agent = agent;
    this.platform = new Platform(agent.facts);
  }

  static async start(state: string, env: Record<string, string> = {}): Promise<Node> {
    return new Node(
      await AgentProcess.start({
        nodeId: `node_art_${process.pid}_${count++}`,
        redisUrl: stack.redis.url,
        registry: inject("registry"),
        image: inject("node").image,
        state,
        env: { AGENT_SLOTS_READY: "2", AGENT_SNAPSHOT_QUIET_MS: "0", ...env },
      }),
    );
  }

  /** Agent, holders and sandboxes end, and its tmpfs with its mount namespace: what is left is what a reboot leaves. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.platform[Symbol.asyncDispose]();
    await this.agent[Symbol.asyncDispose]();
  }

  /** The heartbeat that shows the snapshot so. */
  beat(shows: (snapshots: Heartbeat["snapshots"]) => boolean): Promise<Heartbeat> {
    const since = Date.now();
    return this.platform.next(
      (report): report is Heartbeat => report.kind === "heartbeat" && report.at >= since && shows(report.snapshots),
    );
  }

  async suspend(sandboxId: string): Promise<string> {
    const snapshotId = newId("snapshot");
    await this.platform.run({ kind: "suspend", ...this.platform.base(), sandboxId, snapshotId });
    return snapshotId;
  }

  resume(sandboxId: string, snapshotId: string) {
    return this.platform.run({ kind: "resume", ...this.platform.base(), sandboxId, snapshotId, resources: RESOURCES });
  }

  inMemory(): Promise<string[]> {
    return readdir(join(`/proc/${this.agent.facts.pid}/root`, this.agent.facts.state, "memory"));
  }

  onDisk(): Promise<string[]> {
    return readdir(join(this.agent.facts.state, "snapshots"));
  }
}

async function flip(path: string): Promise<void> {
  await using file = await open(path, "r+");
  const { size } = await file.stat();
  await file.write(Buffer.from([0xa5, 0x5a, 0xa5]), 0, 3, Math.floor(size / 2));
}

const registry = (name: string) => ({ AGENT_SNAPSHOT_REGISTRY: `${inject("registry")}/${name}` });
const sealed = (folder: string) => vi.waitFor(() => stat(join(folder, "seal.json")), SETTLED);

describe("what lasts", () => {
  it("is there after the node was started anew: templates restore, suspended sandboxes resume", LIMIT, () =>
    withState(async (state) => {
      let template, child, snapshotId;
      {
        await using node = await Node.start(state);
        const { platform } = node;
        template = await platform.bake({ cmd: "python3 -c 'baked = 41'" });
        const parent = await platform.create(template);
        await platform.python(parent, "import os; data = os.urandom(3_000_000); open('/from-parent', 'w').write('p')");
        [child = ""] = await platform.fork(parent, 1);
        await platform.python(child, "open('/digest', 'w').write(str(hash(data)))");
        await platform.delete(parent);
        snapshotId = await node.suspend(child);
        // The fork's snapshot is still a layer of it; its images and its holder would be memory held for nothing.
        await vi.waitFor(async () => expect(await node.inMemory()).toEqual([]), SETTLED);
        const { groups } = await processesOf(node.agent.facts.nodeId);
        expect(groups).toEqual({ holders: 1 });
        await sealed(join(state, "snapshots", snapshotId));
      }
      await using node = await Node.start(state);
      const { platform } = node;
      expect((await node.beat(() => true)).snapshots.map((one) => one.snapshotId).toSorted()).toEqual(
        [template.snapshotId, snapshotId].toSorted(),
      );
      const fresh = await platform.create(template);
      expect(await platform.python(fresh, "print(baked)")).toBe("41\n");
      await node.resume(child, snapshotId);
      expect(await platform.python(child, "print(open('/digest').read() == str(hash(data)), open('/from-parent').read())")).toBe(
        "True p\n",
      );
    }),
  );

  it("is refused by name when it was altered or cut off, and harms nobody else", LIMIT, () =>
    withState(async (state) => {
      let damaged, good, sandboxId, snapshotId;
      {
        await using node = await Node.start(state);
        const { platform } = node;
        [damaged, good] = [await platform.bake({ cmd: "true" }), await platform.bake({ cmd: "true" })];
        sandboxId = await platform.create(good);
        snapshotId = await node.suspend(sandboxId);
        await sealed(join(state, "snapshots", snapshotId));
      }
      const images = join(state, "snapshots", damaged.snapshotId, "images");
      const pages = (await readdir(images)).find((name) => name.startsWith("pages-")) ?? "";
      await flip(join(images, pages));
      const cut = join(state, "snapshots", snapshotId, "images", "pstree.img");
      await truncate(cut, 20);

      await using node = await Node.start(state);
      const { platform } = node;
      const failure = await failureOf(platform.create(damaged));
      expect(failure).toMatchObject({ code: "snapshot_damaged", message: expect.stringContaining(`${pages} is damaged: bytes`) });
      const lost = await failureOf(node.resume(sandboxId, snapshotId));
      expect(lost).toMatchObject({ code: "snapshot_damaged", message: expect.stringContaining(`${cut} is damaged: it has 20 bytes`) });
      // The template's is gone, so that it is baked anew; the suspended sandbox has no other and is kept.
      expect((await node.onDisk()).toSorted()).toEqual([good.snapshotId, snapshotId].toSorted());
      await platform.create(good);
    }),
  );
});

describe("a template on a second node", () => {
  it("is pulled when a job names it; a damaged one is pulled anew", LIMIT, () =>
    withState(async (first, second) => {
      const env = registry("pulled");
      let template;
      {
        // Ended before the next begins: reports of all nodes of a test go through one queue, to whoever takes them first.
        await using one = await Node.start(first, env);
        const baked = await one.platform.bake({ cmd: "python3 -c 'baked = 41'" });
        await one.beat((snapshots) => snapshots.some((it) => it.snapshotId === baked.snapshotId && it.pushed));
        template = baked;
      }
      {
        await using two = await Node.start(second, env);
        const sandbox = await two.platform.create(template);
        expect(await two.platform.python(sandbox, "print(baked + 1)")).toBe("42\n");
        const [child = ""] = await two.platform.fork(sandbox, 1);
        expect(await two.platform.python(child, "print(baked + 2)")).toBe("43\n");
      }
      const images = join(second, "snapshots", template.snapshotId, "images");
      await flip(join(images, (await readdir(images)).find((name) => name.startsWith("pages-")) ?? ""));
      await using again = await Node.start(second, env);
      const sandbox = await again.platform.create(template);
      expect(await again.platform.python(sandbox, "print(baked + 1)")).toBe("42\n");
      expect(await again.agent.log()).toContain("is of no use here");
    }),
  );

  it("that nobody has, or that was taken elsewhere, says so", LIMIT, () =>
    withState(async (state) => {
      let template;
      {
        await using node = await Node.start(state);
        template = await node.platform.bake({ cmd: "true" });
        const nowhere = { ...template, snapshotId: newId("snapshot") };
        expect(await failureOf(node.platform.create(nowhere))).toMatchObject({ code: "snapshot_missing" });
      }
      const path = join(state, "snapshots", template.snapshotId, "manifest.json");
      const text = await readFile(path, "utf8");
      await writeFile(path, text.replace(/"kernel": "[^"]*"/, '"kernel": "5.10.0"'));
      await using node = await Node.start(state);
      expect(await failureOf(node.platform.create(template))).toMatchObject({
        code: "snapshot_incompatible",
        message: expect.stringContaining("it was taken under kernel 5.10.0"),
      });
    }),
  );
});

describe("a node that runs out of room", () => {
  it("lets templates go that can be fetched again, the longest unused first", LIMIT, () =>
    withState(async (state) => {
      await using node = await Node.start(state, { ...registry("budget"), AGENT_SNAPSHOT_BUDGET_MIB: "40" });
      const { platform } = node;
      const first = await platform.bake({ cmd: "python3 -c 'a = b\"x\" * 15_000_000'" });
      await node.beat((snapshots) => snapshots.some((it) => it.snapshotId === first.snapshotId && it.pushed));
      const second = await platform.bake({ cmd: "python3 -c 'b = b\"y\" * 20_000_000'" });
      expect(await node.onDisk()).toEqual([second.snapshotId]);
      // Pulled again for the next job.
      await node.beat((snapshots) => snapshots.some((it) => it.snapshotId === second.snapshotId && it.pushed));
      const sandbox = await platform.create(first);
      expect(await platform.python(sandbox, "print(len(a))")).toBe("15000000\n");
      expect(await node.onDisk()).toEqual([first.snapshotId]);
    }),
  );

  it("of memory for a fork fails that fork alone, and frees what it took", LIMIT, () =>
    withState(async (state) => {
      await using node = await Node.start(state, { AGENT_MEMORY_MIB: "24" });
      const { platform } = node;
      const template = await platform.bake({ cmd: "true" });
      const parent = await platform.create(template);
      await platform.python(parent, "import os; data = os.urandom(40_000_000); n = len(data)");
      const failure = await failureOf(platform.run(platform.forkJob(parent, sandboxIds(2))));
      expect(failure.code).toBe("no_space");
      expect([await node.inMemory(), await node.onDisk()]).toEqual([[], [template.snapshotId]]);
      expect(await platform.python(parent, "del data; print(n)")).toBe("40000000\n");
      const [child = ""] = await platform.fork(parent, 1);
      expect(await platform.python(child, "print(n)")).toBe("40000000\n");
    }),
  );
});
