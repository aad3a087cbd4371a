// SPDX-License-Identifier: Apache-2.0
import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GuestClient } from "../src/index.ts";

const here = import.meta.dirname;
const built = join(here, "..", "build");

/** Builds init and the proxy once per test run (vitest's globalSetup). */
export function setup(): void {
  execFileSync(join(here, "..", "build.sh"), [built], { stdio: "inherit" });
  execFileSync("gcc", ["-D_GNU_SOURCE", "-O2", "-Wall", "-Werror", "-o", join(built, "netns-proxy"), join(here, "netns-proxy.c")], { stdio: "inherit" });
}

/** A real init as PID 1 of real namespaces over the machine's own files, and the way in that an agent has. */
export class TestSandbox implements AsyncDisposable {
  readonly guest: GuestClient;
  /** PID of init as the machine sees it. */
  readonly pid: number;
  readonly #unshare: ChildProcess;
  readonly #proxy: ChildProcess;
  readonly #folder: string;

  private constructor(unshare: ChildProcess, pid: number, proxy: ChildProcess, folder: string) {
    this.#unshare = unshare;
    this.pid = pid;
    this.#proxy = proxy;
    this.#folder = folder;
    this.guest = new GuestClient(() => this.dial());
  }

  static async start({ harden = false, env = {} }: { harden?: boolean; env?: Record<string, string> } = {}): Promise<TestSandbox> {
    const folder = await mkdtemp(join(tmpdir(), "guest-"));
    const setting = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const init = ["/usr/bin/env", ...setting, join(built, "collimate-init"), ...(harden ? ["--harden"] : [])];
    const namespaces = ["--fork", "--kill-child", "--pid", "--mount-proc", "--net", "--uts", "--ipc", "--mount"];
    const unshare = spawn("unshare", [...namespaces, ...init], {
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/root", LANG: "C.UTF-8" },
      stdio: ["ignore", "ignore", "inherit"],
      cwd: "/",
    });
    const pid = await childOf(unshare, "collimate-init");
    const path = join(folder, "init.sock");
    const proxy = spawn(join(built, "netns-proxy"), [String(pid), path], { stdio: ["ignore", "pipe", "inherit"] });
    await once(proxy.stdout, "data");
    const sandbox = new TestSandbox(unshare, pid, proxy, folder);
    await sandbox.#untilAnswers();
    return sandbox;
  }

  async dial(): Promise<Socket> {
    const socket = connect(join(this.#folder, "init.sock"));
    await once(socket, "connect");
    return socket;
  }

  async sh(script: string): Promise<string> {
    const { stdout, stderr, exitCode } = await this.guest.exec({ shell: script, timeoutMs: 20_000 });
    if (exitCode !== 0) throw new Error(`exit ${exitCode}: ${stderr.toString()}`);
    return stdout.toString();
  }

  async py(code: string): Promise<string> {
    const { stdout, stderr, exitCode } = await this.guest.exec({ code, timeoutMs: 20_000 });
    if (exitCode !== 0) throw new Error(`exit ${exitCode}: ${stderr.toString()}`);
    return stdout.toString();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ends = [this.#unshare, this.#proxy].map((child) => (child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined));
    this.#proxy.kill("SIGKILL");
    this.#unshare.kill("SIGKILL");
    await Promise.all(ends);
    await rm(this.#folder, { recursive: true });
  }

  /** Init listens a moment after its exec; until then a dial is refused. */
  async #untilAnswers(): Promise<void> {
    await until(() => this.guest.ping().then(() => true, () => false));
  }
}

/** Looks again and again, at most 10 s, without a fixed sleep that a slow machine could outlast. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 10_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error("it did not come true within 10 s");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function childOf(parent: ChildProcess, name: string): Promise<number> {
  const found: number[] = [];
  await until(async () => {
    const list = await readFile(`/proc/${parent.pid}/task/${parent.pid}/children`, "utf8").catch(() => "");
    const pid = Number(list.trim());
    if (!pid) return false;
    const command = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
    if (!name.startsWith(command.trim()) || !command) return false;
    found.push(pid);
    return true;
  });
  return found[0] ?? 0;
}
