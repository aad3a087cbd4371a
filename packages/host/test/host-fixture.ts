// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync, copyFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, vi } from "vitest";

import { Hostd, type BootRequest, type DialTarget, type ProcessRef } from "../src/index.ts";
import { hostdBinary, testInit } from "./build-programs.ts";

export const BASE = 0x10000 * 40_000; // far above what a real agent on this machine would use first
export const COUNT = 65_536;
export const SLOT = 7;
const privateMounts = ["unshare", "--mount", "--propagation", "private"];

/** A daemon in a mount namespace of its own, with a scratch folder that holds one sandbox's layers. */
export interface TestHost {
  readonly hostd: Hostd;
  readonly folder: string;
  readonly root: string;
  mountsOf(pid: number): string[];
}

/** Tries until it holds. Generous, for machines that are busy with other things. */
export function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(attempt, { timeout: 10_000, interval: 10 });
}

/** Mount points in a process's namespace that a test could have made; others on this machine come and go. */
function mountPoints(pid: number | "self"): string[] {
  const lines = readFileSync(`/proc/${pid}/mountinfo`, "utf8").trim().split("\n");
  const points = lines.map((line) => line.split(" ")[4] ?? "");
  return points.filter((point) => /collimate-(host-test|layers)/.test(point));
}

/** pids of live processes whose user is one of the test's sandbox ids. */
export function sandboxProcesses(base = BASE): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, "utf8");
        const uid = Number(/^Uid:\t(\d+)/m.exec(status)?.[1]);
        return uid >= base && uid < base + COUNT && !/^State:\tZ/m.test(status);
      } catch {
        return false; // ended meanwhile
      }
    })
    .map(Number);
}

/**
 * Runs a test against a fresh daemon and then proves that nothing is left of it: no mount in the daemon's namespace
 * or ours, no sandbox process, no child of the daemon, no slot or watch.
 */
export async function withHost(
  run: (host: TestHost) => Promise<void>,
  options: { arguments?: string[]; launcher?: string[] } = {},
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "collimate-host-test-"));
  try {
    const socket = join(folder, "hostd.sock");
    await using hostd = await Hostd.start({
      binary: hostdBinary,
      socket,
      launcher: options.launcher ?? privateMounts,
      arguments: options.arguments ?? [],
    });
    makeLayers(folder);
    await run({ hostd, folder, root: join(folder, "root"), mountsOf: mountPoints });
    await eventually(async () => {
      expect(sandboxProcesses()).toEqual([]);
      expect(mountPoints(hostd.pid)).toEqual([]);
      expect(childrenOf(hostd.pid)).toEqual([]);
      expect(await hostd.client.stat()).toMatchObject({ workers: 0, dials: 0, watches: 0 });
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  expect(mountPoints("self")).toEqual([]);
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith("collimate-layers"))).toEqual([]);
}

export function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return children === "" ? [] : children.split(" ").map(Number);
}

/** guest (devices, init) over image, with in-namespace ids, and an empty upper. */
function makeLayers(folder: string): void {
  const guest = join(folder, "guest");
  const image = join(folder, "image");
  for (const path of ["dev/pts", "proc", "tmp", ".collimate"]) mkdirSync(join(guest, path), { recursive: true });
  for (const path of ["etc", "home"]) mkdirSync(join(image, path), { recursive: true });
  for (const path of ["root", "layer/upper", "layer/work"]) mkdirSync(join(folder, path), { recursive: true });
  for (const [name, minor] of [
    ["null", "3"],
    ["urandom", "9"],
  ] as const)
    execFileSync("mknod", ["-m", "666", join(guest, "dev", name), "c", "1", minor]);
  copyFileSync(testInit, join(guest, ".collimate", "init"));
  writeFileSync(join(image, "etc", "motd"), "from the image\n");
  writeFileSync(join(image, "home", "owned"), "by a user\n");
  execFileSync("chown", ["1000:1001", join(image, "home", "owned")]);
}

export const overlayOf = (host: TestHost) => ({
  slot: SLOT,
  target: host.root,
  lower: [join(host.folder, "guest"), join(host.folder, "image")],
  base: join(host.folder, "layer"),
  volatile: true,
});

/** Slot and overlay, without a process; undone by disposing. */
export async function mounted(
  host: TestHost,
  overrides: Partial<ReturnType<typeof overlayOf>> & { index?: boolean; nfsExport?: boolean } = {},
): Promise<AsyncDisposable & { path: string }> {
  const { client } = host.hostd;
  await client.createUserns(SLOT, BASE, COUNT);
  await client.mountOverlay({ ...overlayOf(host), ...overrides });
  return {
    path: host.root,
    async [Symbol.asyncDispose]() {
      await client.umount(host.root);
      await client.dropUserns(SLOT);
    },
  };
}

export interface TestSandbox extends AsyncDisposable {
  readonly process: ProcessRef;
  /** One command of test-init, its whole answer. */
  ask(command: string): Promise<string>;
  dial(target?: DialTarget): Promise<Socket>;
  /** Closes the connection that the fixture itself keeps. */
  hangUp(): Promise<void>;
}

export async function booted(
  host: TestHost,
  overrides: Partial<BootRequest> = {},
  overlay: Parameters<typeof mounted>[1] = {},
): Promise<TestSandbox> {
  const root = await mounted(host, overlay);
  const { hostd } = host;
  const { client } = hostd;
  try {
    const process = await client.boot({ slot: SLOT, root: host.root, argv: ["/.collimate/init"], ...overrides });
    const inside = await untilListening(hostd, process);
    return {
      process,
      dial: (target = { abstract: "test-init" }) => hostd.dial(process, target),
      ask: async (command) => ask(await hostd.dial(process, { abstract: "test-init" }), command),
      async hangUp() {
        inside.end();
        inside.resume();
        if (!inside.closed) await once(inside, "close");
      },
      async [Symbol.asyncDispose]() {
        inside.destroy();
        const watch = await client.watch("dispose", process).catch(() => undefined);
        await client.kill(process);
        await watch?.ended;
        await root[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await root[Symbol.asyncDispose]();
    throw error;
  }
}

/** boot() answers when the program runs, which is before it listens. */
async function untilListening(hostd: Hostd, process: ProcessRef): Promise<Socket> {
  return eventually(() => hostd.dial(process, { abstract: "test-init" }));
}

export async function ask(stream: Socket, command: string): Promise<string> {
  stream.end(`${command}\n`);
  return text(stream);
}
