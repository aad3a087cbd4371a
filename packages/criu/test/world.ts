// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  type CriuProgram,
  type DumpOptions,
  type DumpResult,
  dump,
  type Holder,
  type HolderRestored,
  type HolderRestoreOptions,
  probe,
  startHolder,
  type StartHolderOptions,
  type TreeOptions,
} from "../src/index.ts";
import { childrenOf, exists, waitFor } from "./processes.ts";

const run = promisify(execFile);
const here = import.meta.dirname;

export const TREE: TreeOptions = { emptyNetwork: true };
/** Far from ranges that a machine gives to people and containers. */
const FIRST_UID = 0x10000 * 4000;

export function criuPath(): string {
  const tools = process.env["COLLIMATE_TOOLS"] ?? "/var/cache/collimate";
  return process.env["COLLIMATE_CRIU"] ?? join(tools, "criu", "criu");
}

/** Images, the layers that belong to them, and the holder's way to find them. */
export interface Snapshot {
  readonly images: string;
  /** Upper layers, newest first, with the ids that the tree had. */
  readonly layers: readonly string[];
  readonly result: DumpResult;
}

/** A running tree and its file system. */
export interface Sandbox {
  readonly pid: number;
  /** The overlay's upper directory. */
  readonly upper: string;
  readonly layers: readonly string[];
  /** What the holder said, for a restored one. */
  readonly restored?: HolderRestored;
}

/** A place on tmpfs for one test file: programs, sandboxes, snapshots; all gone at its end. */
export class World {
  readonly directory: string;
  readonly program: CriuProgram;
  readonly #pids: number[] = [];
  readonly #mounts: string[] = [];
  readonly #holders: Holder[] = [];
  #next = 0;

  private constructor(directory: string, program: CriuProgram) {
    this.directory = directory;
    this.program = program;
  }

  static async create(): Promise<World> {
    const path = criuPath();
    if (!existsSync(path)) {
      throw new Error(`${path} is not there: build it with packages/criu-holder/build.sh, or set COLLIMATE_CRIU`);
    }
    const directory = await mkdtemp("/dev/shm/collimate-criu-test-");
    await chmod(directory, 0o711);
    const world = new World(directory, await World.#program(path));
    await world.#makeGuest();
    return world;
  }

  /** The probe takes seconds where breakpoints do not fire: once for all test files. */
  static async #program(path: string): Promise<CriuProgram> {
    const told = process.env["COLLIMATE_CRIU_WITHOUT_BREAKPOINTS"];
    if (told !== undefined) return { path, withoutBreakpoints: told === "1" };
    const found = await probe({ path, limitMs: 3000 });
    if (!found.works) throw new Error(`criu does not work here: ${found.reason}`);
    process.env["COLLIMATE_CRIU_WITHOUT_BREAKPOINTS"] = found.program.withoutBreakpoints ? "1" : "0";
    return found.program;
  }

  get guest(): string {
    return join(this.directory, "guest");
  }

  async #makeGuest(): Promise<void> {
    for (const name of ["dev/shm", "proc", "tmp"]) await mkdir(join(this.guest, name), { recursive: true });
    for (const [name, minor] of [
      ["null", 3],
      ["zero", 5],
      ["urandom", 9],
    ] as const) {
      await run("mknod", ["-m", "666", join(this.guest, "dev", name), "c", "1", String(minor)]);
    }
    for (const name of ["dev/shm", "tmp"]) await chmod(join(this.guest, name), 0o1777);
    for (const name of ["sandbox", "subject"]) {
      const flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-pthread"];
      await run("gcc", [...flags, "-o", join(this.guest, name), join(here, `${name}.c`)]);
    }
    await copyFile(join(here, "subject.py"), join(this.guest, "subject.py"));
    await writeFile(join(this.guest, "pattern"), Buffer.alloc(1 << 20, 0x55));
  }

  name(kind: string): string {
    return `${kind}${this.#next++}`;
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  uidBase(): number {
    return FIRST_UID + 0x10000 * this.#next++;
  }

  /** An overlay over the machine's own root, with layers whose files belong to `uid`. */
  async root(layers: readonly string[], uid: number): Promise<{ root: string; upper: string }> {
    const directory = this.path(this.name("root"));
    const [root, upper, work] = [join(directory, "root"), join(directory, "upper"), join(directory, "work")];
    for (const path of [root, upper, work]) await mkdir(path, { recursive: true });
    const own: string[] = [];
    for (const [index, layer] of layers.entries()) {
      // A real node maps ids by mount; copies will do for these few files.
      const copy = join(directory, `layer${index}`);
      await run("cp", ["-a", layer, copy]);
      await run("chown", ["-R", `${uid}:${uid}`, copy]);
      own.push(copy);
    }
    await run("chown", [`${uid}:${uid}`, upper]);
    const lower = [...own, this.guest, "/"].join(":");
    await run("mount", ["-t", "overlay", "-o", `lowerdir=${lower},upperdir=${upper},workdir=${work}`, "overlay", root]);
    this.#mounts.push(root);
    return { root, upper };
  }

  /** Starts `command` in a fresh sandbox and waits until it has answered "ready". */
  async sandbox(command: readonly string[] = ["/subject"]): Promise<Sandbox> {
    const uid = this.uidBase();
    const { root, upper } = await this.root([], uid);
    const { stdout } = await run(join(this.guest, "sandbox"), [root, String(uid), ...command]);
    const pid = Number(stdout);
    this.#pids.push(pid);
    await waitFor(`${command.join(" ")} to be ready`, () => exists(`/proc/${pid}/root/answer`));
    return { pid, upper, layers: [] };
  }

  async snapshot(
    sandbox: Sandbox,
    options: Partial<Pick<DumpOptions, "delta" | "cgroup" | "onFrozen" | "leaveRunning" | "limitMs">> = {},
  ): Promise<Snapshot> {
    const name = this.name("snapshot");
    const images = this.path(name);
    // Nothing writes while a subject waits for its next command, so the order does not matter here.
    const layer = this.path(`${name}.layer`);
    await cp(sandbox.upper, layer, { recursive: true, preserveTimestamps: true });
    await rm(join(layer, "answer"), { force: true });
    const result = await dump({
      program: this.program,
      tree: TREE,
      pid: sandbox.pid,
      images,
      leaveRunning: true,
      ...options,
    });
    return { images, layers: [layer, ...sandbox.layers], result };
  }

  async hold(snapshot: Snapshot, options: Partial<StartHolderOptions> = {}): Promise<Holder> {
    const holder = await startHolder({
      program: this.program,
      tree: TREE,
      images: snapshot.images,
      socket: this.path(`${this.name("holder")}.sock`),
      work: this.path(this.name("work")),
      ...options,
    });
    this.#holders.push(holder);
    return holder;
  }

  async derive(holder: Holder, snapshot: Snapshot): Promise<Holder> {
    const derived = await holder.derive({
      images: snapshot.images,
      socket: this.path(`${this.name("holder")}.sock`),
      work: this.path(this.name("work")),
    });
    this.#holders.push(derived);
    return derived;
  }

  async restore(
    holder: Holder,
    snapshot: Snapshot,
    options: Partial<HolderRestoreOptions> = {},
  ): Promise<Sandbox & { restored: HolderRestored }> {
    const uidBase = options.uidBase ?? this.uidBase();
    const { root, upper } = await this.root(snapshot.layers, uidBase);
    const restored = await holder.restore({ root, work: this.path(this.name("work")), uidBase, ...options });
    this.#pids.push(restored.pid);
    return { pid: restored.pid, upper, layers: snapshot.layers, restored };
  }

  track(pid: number): void {
    this.#pids.push(pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const holder of this.#holders) await holder.stop();
    for (const pid of this.#pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // has ended
      }
    }
    for (const mount of this.#mounts) await run("umount", ["-l", mount]);
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** The program under test: PID 1's only child. */
export function subjectOf(sandbox: Sandbox): number {
  const [pid] = childrenOf(sandbox.pid);
  if (pid === undefined) throw new Error(`sandbox ${sandbox.pid} has no child`);
  return pid;
}

/** Has the program in the sandbox do something, and answers what it says. */
export async function command(sandbox: Sandbox, text: string): Promise<string> {
  const root = `/proc/${sandbox.pid}/root`;
  await rm(join(root, "answer"), { force: true });
  await writeFile(join(root, "command"), text);
  process.kill(subjectOf(sandbox), "SIGUSR1");
  await waitFor(`an answer to "${text}"`, () => exists(join(root, "answer")));
  return readFile(join(root, "answer"), "utf8");
}
