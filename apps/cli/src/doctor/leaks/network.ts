// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Leak } from "./leak.ts";
import type { Scene } from "./scene.ts";

const run = promisify(execFile);

/** Interfaces, namespaces and firewall tables carry no node's name, so they are only judged when no agent of any platform runs. */
export async function leakedNetwork(scene: Scene): Promise<Leak[]> {
  if (scene.agent !== undefined || scene.shared) return [];
  return [...(await interfaces()), ...(await namespaces()), ...(await firewall())];
}

/** The host's ends of sandboxes' veth pairs are called col0, col1, ... */
async function interfaces(): Promise<Leak[]> {
  const names = (await readdir("/sys/class/net")).filter((name) => /^col\d+$/.test(name));
  return names.map((name) => ({ kind: "interface", name, detail: "", remove: () => ip("link", "delete", name) }));
}

async function namespaces(): Promise<Leak[]> {
  const folder = "/run/netns";
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith("collimate-"));
  return names.map((name) => ({ kind: "namespace", name: join(folder, name), detail: "", remove: () => ip("netns", "delete", name) }));
}

async function firewall(): Promise<Leak[]> {
  const tables = await run("/usr/sbin/nft", ["list", "tables"], { timeout: 10_000 }).then(
    ({ stdout }) => stdout.split("\n"),
    () => [], // no nftables, so no table of ours
  );
  return tables.flatMap((line) => {
    const [, family, name] = /^table (\w+) (collimate\w*)$/.exec(line.trim()) ?? [];
    if (family === undefined || name === undefined) return [];
    const remove = async (): Promise<void> => void (await run("/usr/sbin/nft", ["delete", "table", family, name], { timeout: 10_000 }));
    return [{ kind: "firewall" as const, name: `${family} ${name}`, detail: "nftables", remove }];
  });
}

async function ip(...args: string[]): Promise<void> {
  await run("/usr/sbin/ip", args, { timeout: 10_000 });
}
