// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GuestClient } from "../src/index.ts";

const here = import.meta.dirname;
/** What testing/setup.ts makes. */
export const built = join(here, "..", "build");
export const pythonPackages = join(built, "python");

export const clean = {
  PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
  HOME: "/root",
  LANG: "C.UTF-8",
  PYTHONPATH: pythonPackages,
};
const namespaces = ["--fork", "--kill-child", "--pid", "--net", "--uts", "--ipc", "--mount"];

/** A real init as PID 1 of real namespaces, and the way in that an agent has. */
export class TestSandbox implements AsyncDisposable {
  readonly guest: GuestClient;
  /** PID of init as the machine sees it. */
  readonly pid: number;
  readonly #proxy: ChildProcess;
  readonly #folder: string;
  readonly #end: () => Promise<void>;

  private constructor(pid: number, proxy: ChildProcess, folder: string, end: () => Promise<void>) {
    this.pid = pid;
    this.#proxy = proxy;
    this.#folder = folder;
    this.#end = end;
    this.guest = new GuestClient(() => this.dial());
  }

  /** Over the machine's own files. */
  static async start({ harden = false, env = {} }: { harden?: boolean; env?: Record<string, string> } = {}): Promise<TestSandbox> {
    const setting = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const ownShm = ["sh", "-c", 'mount -t tmpfs none /dev/shm && exec "$@"', "sh"];
    return await TestSandbox.#boot("collimate-init", [
      "--mount-proc",
      ...ownShm,
      "/usr/bin/env",
      ...setting,
      join(built, "collimate-init"),
      ...(harden ? ["--harden"] : []),
    ]);
  }

  /** Hardened, in a root that CRIU can take; what it writes goes to `folder`/upper. */
  static async startDumpable(folder: string): Promise<TestSandbox> {
    return await TestSandbox.#boot(".collimate-init", [join(here, "dumpable-root.sh"), folder, join(built, "collimate-init"), "--harden"]);
  }

  static async #boot(name: string, command: string[]): Promise<TestSandbox> {
    const unshare = spawn("unshare", [...namespaces, ...command], { env: clean, stdio: ["ignore", "ignore", "inherit"], cwd: "/" });
    const exit = once(unshare, "exit");
    const pid = await childOf(unshare, name);
    return await TestSandbox.join(pid, async () => {
      killIfThere(pid); // a dump has ended it already
      await exit;
    });
  }

  /** Takes up contact with an init that runs already. */
  static async join(pid: number, end: () => Promise<void>): Promise<TestSandbox> {
    const folder = await mkdtemp(join(tmpdir(), "guest-"));
    const proxy = spawn(join(built, "netns-proxy"), [String(pid), join(folder, "init.sock")], { stdio: ["ignore", "pipe", "inherit"] });
    await once(proxy.stdout, "data");
    const sandbox = new TestSandbox(pid, proxy, folder, end);
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
    const gone = once(this.#proxy, "exit");
    this.#proxy.kill("SIGKILL");
    await Promise.all([gone, this.#end()]);
    await rm(this.#folder, { recursive: true });
  }

  /** Init listens a moment after its exec; until then a dial is refused. */
  async #untilAnswers(): Promise<void> {
    await until(() =>
      this.guest.ping().then(
        () => true,
        () => false,
      ),
    );
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

export function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

async function childOf(parent: ChildProcess, name: string): Promise<number> {
  const found: number[] = [];
  await until(async () => {
    const list = await readFile(`/proc/${parent.pid}/task/${parent.pid}/children`, "utf8").catch(() => "");
    const pid = Number(list.trim());
    if (!pid) return false;
    const command = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
    if (command.trim() !== name) return false;
    found.push(pid);
    return true;
  });
  return found[0] ?? 0;
}
