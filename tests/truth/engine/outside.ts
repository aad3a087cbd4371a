// SPDX-License-Identifier: Apache-2.0
/** What lies behind the engine's uplink: a network namespace with servers in it (outside.py). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { run } from "./programs.ts";

export const SERVER = "203.0.113.1";
/** Private, and there all the same: one that the engine is told to open, the others closed. */
export const OPENED = "192.168.7.7";
export const CLOSED = ["10.9.9.9", "172.16.0.9", "169.254.169.254"];
/** The engine's own address on that link. */
export const HOST = "203.0.113.2";

export interface Outside extends AsyncDisposable {
  readonly pid: number;
}

export async function startOutside(engine: number, rootfs: string): Promise<Outside> {
  const child = spawn(
    "unshare",
    ["--net", "--mount", "--propagation", "private", "python3", join(import.meta.dirname, "outside.py"), rootfs],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const ended = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await ended;
  };
  try {
    const serving = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
    if (serving.done || child.pid === undefined) throw new Error("the servers outside did not start; their reasons stand above");
    await connect(engine, child.pid);
    return { pid: child.pid, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function connect(engine: number, outside: number): Promise<void> {
  const ip = (pid: number, ...args: string[]) => run("nsenter", ["-t", `${pid}`, "-n", "ip", ...args]);
  await ip(engine, "link", "add", "up0", "type", "veth", "peer", "name", "isp", "netns", `${outside}`);
  await ip(engine, "address", "add", `${HOST}/24`, "dev", "up0");
  for (const address of [`${SERVER}/24`, ...[OPENED, ...CLOSED].map((one) => `${one}/32`)])
    await ip(outside, "address", "add", address, "dev", "isp");
  for (const device of ["lo", "up0"]) await ip(engine, "link", "set", device, "up");
  await ip(outside, "link", "set", "isp", "up");
  await ip(engine, "route", "add", "default", "via", SERVER);
}
