// SPDX-License-Identifier: Apache-2.0
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { identify } from "@collimate/embedded";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { temporaryState } from "../../../test/temporary-state.ts";
import { makeStateDirectories } from "../../state/paths.ts";
import type { StatePaths } from "../../state/paths.ts";
import { ensureSecrets } from "../../state/secrets.ts";
import { findLeaks, findSettledLeaks } from "./find.ts";
import { describe as words } from "./leak.ts";
import { removeLeaks } from "./remove.ts";

const run = promisify(execFile);

describe.runIf(process.getuid?.() === 0)("what a dead agent has left", () => {
  let state: Awaited<ReturnType<typeof temporaryState>>;
  let paths: StatePaths;
  let nodeId: string;
  beforeEach(async () => {
    state = await temporaryState();
    paths = state.paths;
    await makeStateDirectories(paths);
    ({ nodeId } = await ensureSecrets(paths));
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await removeLeaks(await findLeaks(paths));
    await state[Symbol.asyncDispose]();
  });

  /** Removes all, and shows that nothing is left. */
  async function sweep(): Promise<string[]> {
    const removed = (await removeLeaks(await findLeaks(paths))).map(words);
    expect((await findSettledLeaks(paths, 5_000)).map(words)).toEqual([]);
    return removed;
  }

  test("a fresh state directory has no leaks", async () => {
    expect(await findLeaks(paths)).toEqual([]);
  });

  test("a process in a group of this node is found, and goes with its group", async () => {
    const groups = await makeGroup(nodeId, "slot-3");
    const child = spawn("/bin/sleep", ["600"]);
    const exited = once(child, "exit");
    await Promise.all(groups.map((group) => writeFile(join(group, "cgroup.procs"), String(child.pid))));
    const removed = await sweep();
    expect(removed).toContain(`process ${child.pid} (in control group slot-3)`);
    expect(removed).toEqual(expect.arrayContaining(groups.map((group) => `cgroup ${group}`)));
    expect((await exited)[1]).toBe("SIGKILL");
  });

  test("another node's group is not ours", async () => {
    const groups = await makeGroup("node_of_a_test", "slot-0");
    try {
      expect(await findLeaks(paths)).toEqual([]);
    } finally {
      for (const group of groups) {
        await rmdir(group);
        await rmdir(join(group, ".."));
        await rmdir(join(group, "..", "..")).catch(() => undefined); // somebody else's may be there
      }
    }
  });

  test("a mount below the agent's directory is found and undone", async () => {
    const point = join(paths.agent, "slots", "a b");
    await mkdir(point, { recursive: true });
    await run("/bin/mount", ["-t", "tmpfs", "none", point]);
    expect(await sweep()).toEqual([`mount ${point} (on the host)`]);
    expect(await readFile("/proc/self/mountinfo", "utf8")).not.toContain(paths.root);
  });

  test("a mount in a namespace of its own is found with the process that keeps it", async () => {
    const point = join(paths.agent, "memory");
    await mkdir(point, { recursive: true });
    const script = 'mount -t tmpfs none "$0" && echo ready && exec sleep 600';
    const child = spawn("/usr/bin/unshare", ["--mount", "--propagation", "private", "--", "/bin/sh", "-c", script, point], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await once(child.stdout, "data");
      const [found] = await findLeaks(paths);
      expect(found).toMatchObject({ kind: "mount", name: point });
      expect(found?.detail).toMatch(/in the mount namespace of pid \d+/);
      await sweep();
    } finally {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
  });

  test("a holder that works on this platform's files is found, wherever it hides; a person's own program is not", async () => {
    const tools = join(paths.root, "tools");
    vi.stubEnv("COLLIMATE_TOOLS", tools);
    await mkdir(join(tools, "criu"), { recursive: true });
    // sleep(1) under criu's name: what counts is which file runs and what it works on.
    await copyFile("/bin/sh", join(tools, "criu", "criu"));
    const script = ["-c", "read -r _", `${paths.agent}/snapshots/snp_1`];
    const holder = spawn(join(tools, "criu", "criu"), script);
    const person = spawn("/bin/sh", script);
    const exited = once(holder, "exit");
    try {
      await Promise.all([holder, person].map((child) => once(child, "spawn")));
      expect((await sweep()).join()).toMatch(new RegExp(`^process ${holder.pid} `));
      await exited;
      expect(await identify(person.pid ?? 0)).toBeDefined();
    } finally {
      person.kill("SIGKILL");
    }
  });

  test("a writable layer that nobody uses is found and removed", async () => {
    const layer = join(paths.agent, "sandboxes", "sb_1");
    await mkdir(join(layer, "upper"), { recursive: true });
    expect(await sweep()).toEqual([`folder ${layer}`]);
    expect(await readdir(join(paths.agent, "sandboxes"))).toEqual([]);
  });
});

/** Makes a sandbox's group in each hierarchy that sandboxes use. */
async function makeGroup(node: string, name: string): Promise<string[]> {
  const mounts = (await readFile("/proc/self/mountinfo", "utf8")).split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const path = before.split(" ")[4];
    const used = after.startsWith("cgroup2 ") || /^cgroup .*\b(memory|pids|freezer)\b/.test(after);
    return path !== undefined && used ? [path] : [];
  });
  const groups = mounts.map((mount) => join(mount, "collimate", node, name));
  await Promise.all(groups.map((group) => mkdir(group, { recursive: true })));
  return groups;
}
