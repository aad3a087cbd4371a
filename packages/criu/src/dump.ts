// SPDX-License-Identifier: Apache-2.0
import { chmod, mkdir, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { CriuError } from "./error.ts";
import { type CriuProgram, commonFlags, type TreeOptions } from "./flags.ts";
import { giveOrphansToInit } from "./orphans.ts";
import { runCriu } from "./run.ts";
import { type DumpStats, readDumpStats } from "./stats.ts";
import { someoneTraced, standStill, type Standstill } from "./standstill.ts";

/**
 * Bytes that come in between two looks of criu at a TCP queue; a unix socket whose other end was closed unread, which
 * says so once: the next dump works.
 */
const PASSING = /soccr\.c:\d+\): .?recv failed|skqueue: recvmsg fail: error: Connection reset/;
const ATTEMPTS = 3;
const LOG_NAME = "dump.log";

export interface DumpOptions {
  readonly program: CriuProgram;
  readonly tree: TreeOptions;
  /** Host pid of the tree's first process. */
  readonly pid: number;
  /**
   * Directory for the images; emptied first. Keep it on tmpfs, below a directory
   * that is closed to others: it is itself open to all who know a name in it.
   */
  readonly images: string;
  /** Whether the tree runs on afterwards. */
  readonly leaveRunning: boolean;
  /**
   * Write only what changed since the tree was restored by a holder. If that
   * holder is gone the dump is a full one.
   */
  readonly delta?: {
    /** The holder's images; the new ones refer to them by a relative link, so they must move together. */
    readonly parentImages: string;
    /** The holder's table of what it holds; by default in its images. */
    readonly table?: string;
  };
  /**
   * A cgroup (v1 freezer or v2) that holds the tree and nothing else. It is
   * frozen before and thawed after the dump.
   */
  readonly cgroup?: string;
  /**
   * Called once when the tree stands still; it runs beside the dump, and the
   * tree stays frozen until both are done. Needs `cgroup`.
   */
  readonly onFrozen?: () => Promise<void>;
  /**
   * Called when the images are written and the names that criu has given to open files without one (`link_remap.N`,
   * beside where they were) still stand: they must be in any copy of the file system.
   */
  readonly onDumped?: () => Promise<void>;
  /** Default 60,000. */
  readonly limitMs?: number;
  readonly signal?: AbortSignal;
}

export interface DumpResult extends DumpStats {
  /** How the images were written. "full" although a delta was asked for: its holder was gone. */
  readonly kind: "full" | "delta";
  /** From the call to the answer. */
  readonly ms: number;
  /** From before the freeze to after the thaw; with no cgroup, what criu says. */
  readonly pauseMs: number;
}

/** Checkpoints a process tree into images. */
export async function dump(options: DumpOptions): Promise<DumpResult> {
  if (options.onFrozen !== undefined && options.cgroup === undefined) {
    throw new TypeError("onFrozen needs a cgroup to freeze");
  }
  const started = performance.now();
  const deadline = started + (options.limitMs ?? 60_000);
  await emptyDirectory(options.images);
  if (options.cgroup === undefined) {
    const kind = await attempts(options, deadline, new Turns(options));
    return finish(options, kind, started);
  }
  const traced = someoneTraced(options.cgroup);
  if (traced !== undefined) {
    throw new CriuError("failed", `criu cannot dump process ${options.pid}`, {
      log: [`Process (pid: ${traced.pid}) is traced by ${traced.tracer}`],
    });
  }
  const turns = new FreezingTurns(options, options.cgroup, deadline);
  let kind: "full" | "delta";
  try {
    kind = await attempts(options, deadline, turns);
    await turns.copied;
  } catch (error) {
    if (!turns.foundStopped) throw error;
    turns.thaw();
    return await dumpByPtraceAlone(options, deadline, started);
  } finally {
    // Nobody changes the files while they are copied, nor before the slot is used again.
    await turns.copied?.catch(() => undefined);
    // A dump that does not leave the tree running has ended it: then there is nobody to thaw.
    turns.thaw();
  }
  return finish(options, kind, started, turns.pauseMs);
}

/** What criu asks for while it dumps: see `HOLDER_DUMP_FD` in packages/criu-holder/README.md. */
class Turns {
  readonly #onDumped: DumpOptions["onDumped"];

  constructor({ onDumped }: Pick<DumpOptions, "onDumped">) {
    this.#onDumped = onDumped;
  }

  /** criu has made itself ready and would look at the tree now. */
  async begin(): Promise<void> {}

  async take(stage: string): Promise<void> {
    await (stage === "b" ? this.begin() : this.#onDumped?.());
  }
}

/** The tree stands still from the moment that criu is ready; the copy of its files begins then. */
class FreezingTurns extends Turns {
  readonly #options: DumpOptions;
  readonly #cgroup: string;
  readonly #deadline: number;
  #began = 0;
  #stillness: Standstill | undefined;
  copied: Promise<void> | undefined;
  foundStopped = false;
  pauseMs = 0;

  constructor(options: DumpOptions, cgroup: string, deadline: number) {
    super(options);
    this.#options = options;
    this.#cgroup = cgroup;
    this.#deadline = deadline;
  }

  /** A second attempt finds the tree standing still. */
  override async begin(): Promise<void> {
    if (this.#stillness !== undefined) return;
    this.#began = performance.now();
    this.#stillness = await standStill(this.#cgroup, Math.min(5000, this.#deadline - this.#began));
    this.foundStopped = this.#stillness.someoneIsStopped;
    if (this.foundStopped) throw new Error("a task is stopped");
    this.copied = this.#options.onFrozen?.();
    // Looked at when criu has ended, not before.
    this.copied?.catch(() => undefined);
  }

  thaw(): void {
    if (this.#stillness === undefined) return;
    this.#stillness.thaw();
    this.#stillness = undefined;
    this.pauseMs = performance.now() - this.#began;
  }
}

/** What is done to the images when the tree runs on. */
async function finish(options: DumpOptions, kind: "full" | "delta", started: number, pauseMs?: number): Promise<DumpResult> {
  await giveOrphansToInit(options.images);
  const stats = await readDumpStats(options.images);
  return { kind, ms: performance.now() - started, pauseMs: pauseMs ?? stats.frozenMs, ...stats };
}

/**
 * A process that SIGSTOP has stopped cannot be seized while the freezer (of v1) holds it: ptrace waits for it for ever.
 * Then criu stops the tree without the freezer; it stands still until the turn at the end, in which the files are copied.
 */
async function dumpByPtraceAlone(options: DumpOptions, deadline: number, started: number): Promise<DumpResult> {
  const { cgroup: _, onFrozen, onDumped, ...rest } = options;
  const pauseStarted = performance.now();
  const copy = async (): Promise<void> => {
    await onFrozen?.();
    await onDumped?.();
  };
  const kind = await attempts(rest, deadline, new Turns({ onDumped: copy }));
  return finish(options, kind, started, performance.now() - pauseStarted);
}

async function attempts(options: DumpOptions, deadline: number, turns: Turns): Promise<"full" | "delta"> {
  let kind: "full" | "delta" = options.delta === undefined ? "full" : "delta";
  for (let attempt = 1; ; attempt++) {
    try {
      if (attempt > 1) await emptyDirectory(options.images);
      await once(options, kind, deadline - performance.now(), turns);
      return kind;
    } catch (error) {
      if (!(error instanceof CriuError) || error.code !== "failed" || error.treeDamaged) throw error;
      const log = error.log.join("\n");
      if (kind === "delta" && /holder of .* is gone|table of held memory/.test(log)) {
        kind = "full";
      } else if (attempt >= ATTEMPTS || !PASSING.test(log)) {
        throw error;
      }
    }
  }
}

async function emptyDirectory(images: string): Promise<void> {
  await rm(images, { recursive: true, force: true });
  await mkdir(images, { recursive: true });
  // A restore opens images by name when it has become the tree's own user already. Keep others out one level above.
  await chmod(images, 0o755);
}

async function once(options: DumpOptions, kind: "full" | "delta", limitMs: number, turns: Turns): Promise<void> {
  const { program, tree, images, delta } = options;
  const args = [
    "dump",
    "-t",
    String(options.pid),
    "-D",
    images,
    "-o",
    LOG_NAME,
    ...commonFlags(program, tree),
    // A dump always takes connections along; restore decides what becomes of them.
    "--tcp-established",
    // Nobody in the tree has a connection that waits to be accepted; the one who made it learns in the copy that it is gone.
    "--skip-in-flight",
    ...(options.leaveRunning ? ["--leave-running"] : []),
    ...(options.cgroup === undefined ? [] : ["--freeze-cgroup", options.cgroup]),
  ];
  const env: Record<string, string> = {};
  if (kind === "delta" && delta !== undefined) {
    args.push("--prev-images-dir", relative(images, delta.parentImages));
    env["HOLDER_TAB"] = delta.table ?? join(delta.parentImages, "held.tab");
  }
  await runCriu({
    program,
    args,
    env,
    limitMs: Math.max(1, limitMs),
    log: join(images, LOG_NAME),
    purpose: `dump process ${options.pid}`,
    touchesTree: true,
    turns: { variable: "HOLDER_DUMP_FD", take: (stage) => turns.take(stage) },
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}
