// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Holder } from "../src/index.ts";
import { command, type Snapshot, subjectOf, World } from "./world.ts";

const run = promisify(execFile);
let world: World;
let snapshot: Snapshot;
let holder: Holder;
beforeAll(async () => {
  world = await World.create();
  const parent = await world.sandbox();
  await run("nsenter", ["-n", "-t", String(parent.pid), "ip", "address", "add", "10.9.8.7/32", "dev", "lo"]);
  expect(await command(parent, "listen 10.9.8.7")).toBe("listening");
  snapshot = await world.snapshot(parent);
  holder = await world.hold(snapshot);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

async function listening(pid: number): Promise<string[]> {
  const table = await readFile(`/proc/${pid}/net/tcp`, "utf8");
  return [...table.matchAll(/^ *\d+: ([0-9A-F]{8}:[0-9A-F]{4}) \S+ 0A/gm)].map((match) => match[1] ?? "");
}

async function inNamespace(pid: number, ...args: string[]): Promise<string> {
  return (await run("nsenter", ["-n", "-t", String(pid), ...args])).stdout;
}

test("a copy has a network namespace with lo up and the addresses it asked for", async () => {
  const child = await world.restore(holder, snapshot, { addresses: ["10.9.8.7/32", "fd00::7/128"] });
  const addresses = await inNamespace(child.pid, "ip", "-o", "address");
  expect(addresses).toContain("10.9.8.7/32");
  expect(addresses).toContain("fd00::7/128");
  expect(addresses).toContain("127.0.0.1/8");
});

test("sockets bound to addresses are restored, asked for or not", async () => {
  const expected = ["0100007F:1E61", "0708090A:1E62"];
  const child = await world.restore(holder, snapshot, { addresses: ["10.9.8.7/32"] });
  expect((await listening(subjectOf(child))).sort()).toEqual(expected);
  const bare = await world.restore(holder, snapshot);
  expect((await listening(subjectOf(bare))).sort()).toEqual(expected);
});

test("the client can put an interface in before sockets are restored", async () => {
  let sockets: string[] | undefined;
  const child = await world.restore(holder, snapshot, {
    onNetworkNamespace: async (pid) => {
      sockets = await listening(pid);
      await inNamespace(pid, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1");
      await inNamespace(pid, "ip", "address", "add", "10.9.8.7/24", "dev", "eth0");
    },
  });
  expect(sockets).toEqual([]);
  expect(await inNamespace(child.pid, "ip", "-o", "address")).toContain("eth0");
  expect(await command(child, "check")).toBe("wrong 0");
});

test("an address that makes no sense fails the restore", async () => {
  for (const address of ["10.0.0.1", "10.0.0.1/33", "nonsense/8", "fd00::1/129", "/8"]) {
    await expect(world.restore(holder, snapshot, { addresses: [address] })).rejects.toThrow(/Can't add address/);
  }
});
