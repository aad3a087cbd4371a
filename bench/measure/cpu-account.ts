// SPDX-License-Identifier: Apache-2.0
/**
 * CPU time from control groups, so that helpers, detached holders and restored tasks count too: what a process says of
 * its children (wait4) leaves all of these out. Both versions charge a group's ancestors, also after the group is gone.
 */
import { access, mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const V1 = "/sys/fs/cgroup/cpuacct";
const V2 = "/sys/fs/cgroup";

export class CpuAccount implements AsyncDisposable {
  readonly #root: string;
  readonly #own: string;
  readonly #groups: string[];

  private constructor(root: string, own: string, groups: string[]) {
    this.#root = root;
    this.#own = own;
    this.#groups = groups;
  }

  /** Moves this process, and with it all that it will start, into a group of its own. `node`: the engine whose sandboxes and holders count too. */
  static async open(node: string): Promise<CpuAccount> {
    const root = (await exists(join(V1, "cpuacct.usage"))) ? V1 : V2;
    const own = join(root, `collimate-bench-${process.pid}`);
    await mkdir(own);
    await writeFile(join(own, "cgroup.procs"), String(process.pid));
    return new CpuAccount(root, own, [own, join(root, "collimate", node)]);
  }

  /** A group beside it, of somebody who makes groups of its own. */
  include(name: string): void {
    this.#groups.push(join(this.#root, name));
  }

  /** Milliseconds of user and system time since it was opened. */
  async milliseconds(): Promise<number> {
    const used = await Promise.all(this.#groups.map((group) => this.#usage(group)));
    return used.reduce((sum, ms) => sum + ms, 0);
  }

  async #usage(group: string): Promise<number> {
    if (this.#root === V1) return Number(await readFile(join(group, "cpuacct.usage"), "utf8").catch(ifGone)) / 1e6;
    const stat = await readFile(join(group, "cpu.stat"), "utf8").catch(ifGone);
    return Number(/^usage_usec (\d+)$/m.exec(stat)?.[1] ?? 0) / 1e3;
  }

  /** Measures one piece of work. */
  async of(work: () => Promise<unknown>): Promise<{ cpuMs: number; wallMs: number }> {
    const [cpu, wall] = [await this.milliseconds(), performance.now()];
    await work();
    return { wallMs: performance.now() - wall, cpuMs: (await this.milliseconds()) - cpu };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await writeFile(join(this.#root, "cgroup.procs"), String(process.pid));
    const left = (await readFile(join(this.#own, "cgroup.procs"), "utf8")).split("\n").filter(Boolean);
    if (left.length > 0) throw new Error(`the benchmark has left processes behind: ${left.join(", ")}`);
    const inner = (await readdir(this.#own, { withFileTypes: true })).filter((entry) => entry.isDirectory());
    for (const { name } of inner) await rmdir(join(this.#own, name));
    await rmdir(this.#own);
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const missing = z.object({ code: z.literal("ENOENT") });
/** Before the engine has made its group nothing is charged to it. */
function ifGone(error: unknown): string {
  if (missing.safeParse(error).success) return "0";
  throw error;
}
