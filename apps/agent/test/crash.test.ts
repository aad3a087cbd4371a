// SPDX-License-Identifier: Apache-2.0
/** Agents of their own, because these tests stop and kill them. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startStack, type Stack } from "@collimate/embedded";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { AgentProcess, type AgentOptions } from "./node/agent-process.ts";
import { footprint, remains } from "./node/leftovers.ts";
import { failureOf, Platform } from "./node/platform.ts";
import { SETTLED } from "./node/shared-node.ts";

let stack: Stack<"redis">;
beforeAll(async () => {
  stack = await startStack("redis");
});
afterAll(() => stack.stop());

let count = 0;
const options = (state: string): AgentOptions => ({
  nodeId: `node_crash_${process.pid}_${count++}`,
  redisUrl: stack.redis.url,
  registry: inject("registry"),
  image: inject("node").image,
  state,
  env: { AGENT_SLOTS_READY: "2" },
});

async function withState(run: (state: string) => Promise<void>): Promise<void> {
  const state = await mkdtemp(join(tmpdir(), "collimate-crash-"));
  try {
    await run(state);
  } finally {
    await rm(state, { recursive: true, force: true });
  }
}

/** A folder for the front of PATH in which a program is counted before it is run. */
async function countCalls(program: string, state: string): Promise<{ path: string; calls: () => Promise<number> }> {
  const bin = join(state, "bin");
  const log = join(state, `${program}.calls`);
  const path = process.env["PATH"] ?? "";
  await mkdir(bin);
  await writeFile(log, "");
  await writeFile(join(bin, program), `#!/bin/sh\necho called >> ${log}\nPATH=${path} exec ${program} "$@"\n`, { mode: 0o755 });
  return { path: `${bin}:${path}`, calls: async () => (await readFile(log, "utf8")).split("\n").length - 1 };
}

const CLEAN = { groups: [], processes: 0, mounts: [] };

describe("an agent", () => {
  it(
    "that is told to stop while sandboxes live and run ends them all and leaves nothing",
    () =>
      withState(async (state) => {
        await using agent = await AgentProcess.start(options(state));
        await using platform = new Platform(agent.facts);
        const template = await platform.bake({ cmd: "true" });
        const parent = await platform.create(template);
        await platform.fork(parent, 3);
        const running = failureOf(platform.shell(parent, "sleep 1000"));
        await vi.waitFor(
          async () => expect(Object.values((await footprint(agent.facts)).groups).reduce((sum, n) => sum + n, 0)).toBeGreaterThan(8),
          SETTLED,
        );
        expect(await agent.stop()).toBe(0);
        expect((await running).code).toBe("session_gone");
        expect(await remains(agent.facts)).toEqual(CLEAN);
        expect(await readdir(join(state, "sandboxes"))).toEqual([]);
        expect(await readdir(join(state, "snapshots"))).toEqual([template.snapshotId]);
      }),
    120_000,
  );

  it(
    "that comes after one that was killed ends what that one had left, and restores its templates",
    () =>
      withState(async (state) => {
        const first = options(state);
        await using killed = await AgentProcess.start(first);
        const before = new Platform(killed.facts);
        const template = await before.bake({ cmd: "true" });
        const parent = await before.create(template);
        await before.shell(parent, "sleep 1000 > /dev/null 2>&1 &");
        await before.fork(parent, 2);
        await before[Symbol.asyncDispose]();
        killed.signal("SIGKILL");
        await killed.ended;
        expect((await remains(killed.facts)).processes).toBeGreaterThan(0);

        await using next = await AgentProcess.start(first);
        await using platform = new Platform(next.facts);
        const { groups, watched, folders } = await footprint(next.facts);
        expect({ groups, watched, sandboxes: folders.sandboxes, snapshots: folders.snapshots }).toEqual({
          groups: {},
          watched: [],
          sandboxes: [],
          snapshots: [template.snapshotId],
        });
        const sandbox = await platform.create(template);
        expect(await platform.shell(sandbox, "echo from the same template")).toBe("from the same template\n");
        expect(await next.stop()).toBe(0);
        expect(await remains(next.facts)).toEqual(CLEAN);
      }),
    120_000,
  );

  it(
    "that was killed while it unpacked an image leaves no half image to the next; two bakes of one image unpack it once",
    () =>
      withState(async (state) => {
        const { env, ...rest } = options(state);
        const counted = await countCalls("umoci", state);
        const first = { ...rest, env: { ...env, PATH: counted.path } };
        await using killed = await AgentProcess.start(first);
        const before = new Platform(killed.facts);
        await before.queues.nodeQueue(first.nodeId).add(before.bakeJob({ cmd: "true" }));
        const unpacking = async () => (await readdir(join(state, "rootfs"))).filter((name) => name.startsWith("unpack-"));
        await vi.waitFor(async () => expect(await unpacking()).toHaveLength(1), { timeout: 40_000, interval: 2 });
        killed.signal("SIGKILL");
        await killed.ended;
        await before[Symbol.asyncDispose]();
        expect(await unpacking()).toHaveLength(1);
        const calls = await counted.calls();

        await using next = await AgentProcess.start(first);
        await using platform = new Platform(next.facts);
        const [one, two] = await Promise.all([platform.bake({ cmd: "echo one" }), platform.bake({ cmd: "echo two" })]);
        const { folders } = await footprint(next.facts);
        expect(folders.rootfs).toEqual([(first.image.split("@")[1] ?? "").replace(":", "-")]);
        expect(folders.layouts).toEqual([]);
        for (const template of [one, two]) expect(await platform.shell(await platform.create(template), "echo ok")).toBe("ok\n");
        expect(await counted.calls()).toBe(calls + 1);
        expect(await next.stop()).toBe(0);
      }),
    180_000,
  );
});
