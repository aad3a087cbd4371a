// SPDX-License-Identifier: Apache-2.0
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CriuError, dump, freeze } from "../src/index.ts";
import { isAlive, treeOf, waitFor } from "./processes.ts";
import { command, type Sandbox, TREE, World } from "./world.ts";

/** The freezer of cgroup v1, or cgroup v2; whichever this machine lets us make groups in. */
function freezerRoot(): string | undefined {
  return ["/sys/fs/cgroup/freezer", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"].find(
    (path) => existsSync(join(path, "cgroup.procs")) && (path.endsWith("freezer") || existsSync(join(path, "cgroup.controllers"))),
  );
}

let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

async function inCgroup<T>(root: string, sandbox: Sandbox, use: (cgroup: string) => Promise<T>): Promise<T> {
  const cgroup = join(root, world.name(`collimate-criu-test-${process.pid}-`));
  await mkdir(cgroup);
  for (const pid of treeOf(sandbox.pid)) await writeFile(join(cgroup, "cgroup.procs"), String(pid));
  return inGroup(cgroup, sandbox, () => use(cgroup));
}

/** Ends the tree and removes the group after use. */
async function inGroup<T>(cgroup: string, sandbox: Sandbox, use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } finally {
    for (const pid of treeOf(sandbox.pid)) process.kill(pid, "SIGKILL");
    await waitFor("the group to be empty", () => !isAlive(sandbox.pid));
    for (let tries = 0; ; tries++) {
      try {
        await rmdir(cgroup);
        break;
      } catch (error) {
        // The kernel lets go of the last task a moment after it has ended.
        if (tries > 500) throw error;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    }
  }
}

const roots = ["/sys/fs/cgroup/freezer", "/sys/fs/cgroup/unified"].filter((path) => existsSync(join(path, "cgroup.procs")));
const usable = roots.length > 0 ? roots : [freezerRoot()].filter((path) => path !== undefined);

describe.each(usable)("with a cgroup in %s", (root) => {
  test("the tree stands still while the callback runs beside the dump, and goes on after", async () => {
    const sandbox = await world.sandbox();
    await inCgroup(root, sandbox, async (cgroup) => {
      let answered = true;
      let calls = 0;
      const snapshot = await world.snapshot(sandbox, {
        cgroup,
        onFrozen: async () => {
          calls++;
          const file = join(`/proc/${sandbox.pid}/root`, "answer");
          const before = await readFile(file, "utf8");
          await writeFile(join(`/proc/${sandbox.pid}/root`, "command"), "keys");
          for (const pid of treeOf(sandbox.pid).slice(1, 2)) process.kill(pid, "SIGUSR1");
          answered = (await readFile(file, "utf8")) !== before;
        },
      });
      expect({ calls, answered }).toEqual({ calls: 1, answered: false });
      expect(snapshot.result.pauseMs).toBeGreaterThanOrEqual(snapshot.result.frozenMs);
      expect(snapshot.result.pagesWritten).toBeGreaterThan(20_000);
      // The signal sent while it stood still was not lost.
      const answer = join(`/proc/${sandbox.pid}/root`, "answer");
      await waitFor("the answer", () => existsSync(answer) && /^(vdso|kernel) /.test(readFileSync(answer, "utf8")));
      expect(await command(sandbox, "check")).toBe("wrong 0");
    });
  });

  test("a callback that fails fails the dump, and the tree goes on", async () => {
    const sandbox = await world.sandbox();
    await inCgroup(root, sandbox, async (cgroup) => {
      const onFrozen = () => Promise.reject(new Error("the disk is full"));
      await expect(world.snapshot(sandbox, { cgroup, onFrozen })).rejects.toThrow("the disk is full");
      expect(await command(sandbox, "check")).toBe("wrong 0");
    });
  });

  test("a copy is born in the group that was asked for, with all its tasks", async () => {
    const snapshot = await world.snapshot(await world.sandbox());
    const holder = await world.hold(snapshot);
    const cgroup = join(root, world.name(`collimate-criu-test-${process.pid}-`));
    await mkdir(cgroup);
    const copy = await world.restore(holder, snapshot, { cgroups: [join(cgroup, "cgroup.procs")] });
    await inGroup(cgroup, copy, async () => {
      const members = (await readFile(join(cgroup, "cgroup.procs"), "utf8")).trim().split("\n").map(Number);
      expect(new Set(members)).toEqual(new Set(treeOf(copy.pid)));
    });
  });

  test("a frozen group is thawed when its holder goes out of scope", async () => {
    const sandbox = await world.sandbox();
    await inCgroup(root, sandbox, async (cgroup) => {
      {
        using frozen = await freeze(cgroup);
        expect(frozen).toBeDefined();
        expect(await readFile(join(cgroup, root.endsWith("freezer") ? "freezer.state" : "cgroup.events"), "utf8")).toMatch(
          /FROZEN|frozen 1/,
        );
      }
      expect(await command(sandbox, "check")).toBe("wrong 0");
    });
  });
});

describe("a dump", () => {
  test("that ends the tree leaves nothing running", async () => {
    const sandbox = await world.sandbox();
    const { result } = await world.snapshot(sandbox, { leaveRunning: false });
    expect(result.kind).toBe("full");
    expect(isAlive(sandbox.pid)).toBe(false);
  });

  test("of a process that is not there fails with the reason", async () => {
    const attempt = dump({
      program: world.program,
      tree: TREE,
      pid: 0x3ffffe,
      images: world.path("none"),
      leaveRunning: true,
    });
    await expect(attempt).rejects.toMatchObject({ code: "failed", treeDamaged: false });
    await expect(attempt).rejects.toThrow(/4194302/);
  });

  test("that takes longer than its limit is killed and says that the tree is damaged", async () => {
    const sandbox = await world.sandbox();
    const error = await world.snapshot(sandbox, { limitMs: 3 }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(CriuError);
    expect(error).toMatchObject({ code: "timeout", treeDamaged: true });
  });

  test("by a program that is not there says so", async () => {
    const attempt = dump({
      program: { path: "/nonexistent/criu", withoutBreakpoints: false },
      tree: TREE,
      pid: 1,
      images: world.path("never"),
      leaveRunning: true,
    });
    await expect(attempt).rejects.toMatchObject({ code: "not-started" });
  });
});
