// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { spawn } from "node:child_process";
import { mkdir, readFile, rm, stat as statFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Readable } from "node:stream";
import type { z } from "zod";
import { CriuError } from "./error.ts";
import { type CriuProgram, commonFlags, programEnvironment, type TreeOptions } from "./flags.ts";
import * as protocol from "./holder-protocol.ts";
import { meaningfulLines, readMeaningfulLines } from "./log.ts";
import { tcpFlags } from "./restore.ts";
import { prepareRunDirectory } from "./run.ts";

const OUTPUT_BYTES = 65_536;
const STOP_MS = 5000;

export interface StartHolderOptions {
  readonly program: CriuProgram;
  readonly tree: TreeOptions;
  /** The snapshot to hold; its parents are read too. */
  readonly images: string;
  /** Where the holder listens; at most 107 bytes. Its directory must be closed to others. */
  readonly socket: string;
  /** Directory for the holder's log. */
  readonly work: string;
  /**
   * Whether written pages of private file mappings are held too. With "exact"
   * they are read at each restore, and MADV_DONTNEED on them gives the file's
   * bytes back as it does in a plain process; that costs 2 MB per child or so.
   */
  readonly fileMappings?: "held" | "exact";
  /** Where to write the table that delta dumps need; by default into the images. */
  readonly table?: string;
  /**
   * Keeps the kernel from choosing the holder when memory is short, -1000 to
   * 1000. To go below what the caller has takes CAP_SYS_RESOURCE; without it the
   * start fails.
   */
  readonly oomScoreAdj?: number;
  /** For loading the snapshot. Default 60,000. */
  readonly limitMs?: number;
}

/** What a holder keeps. Bytes are bytes. */
export interface HolderStat {
  readonly pid: number;
  /** 0 when loaded from images, one more with each derive. */
  readonly generation: number;
  readonly tasks: number;
  readonly regions: number;
  /** Address space of the held regions. */
  readonly heldBytes: number;
  /** What of it has pages in the images. */
  readonly populatedBytes: number;
  /** Requests being served now. */
  readonly inFlight: number;
}

export interface HolderRestoreOptions {
  /** Mount point of the new tree's root file system, in the holder's mount namespace. */
  readonly root: string;
  /** A directory of this restore's own: log and statistics. */
  readonly work: string;
  /** First id outside of the 65,536 that the tree gets; without it the map of the images. */
  readonly uidBase?: number;
  /** `cgroup.procs` files that the tree is born in. */
  readonly cgroups?: readonly string[];
  /** oom_score_adj of the tree where the images have 0. Default 0. */
  readonly oomScoreAdj?: number;
  /** ADDRESS/BITS, IPv4 or IPv6, put on `lo` of a new network namespace before sockets are restored. */
  readonly addresses?: readonly string[];
  /**
   * Called with the host pid of the new tree's first process when its network
   * namespace is there and before sockets are restored, to move an interface
   * in. 10 s at most; when it throws nothing is restored.
   */
  readonly onNetworkNamespace?: (pid: number) => Promise<void>;
  /** After this time the holder ends the restore and leaves nothing of it. Default 60,000. */
  readonly limitMs?: number;
  readonly signal?: AbortSignal;
}

export interface HolderRestored {
  /** Host pid of the tree's first process. The tree runs; it is the holder's child and reaped by it. */
  readonly pid: number;
  /** From the request's arrival until the tree ran. */
  readonly ms: number;
  /** Of that, until the fork of the holder was there. */
  readonly forkMs: number;
}

export interface DeriveOptions {
  /** Images of a delta dump of a tree that THIS holder has restored. */
  readonly images: string;
  /** Where the new holder listens. */
  readonly socket: string;
  /** Directory for the new holder's log. */
  readonly work: string;
  readonly table?: string;
  readonly limitMs?: number;
  readonly signal?: AbortSignal;
}

/** A process that keeps one snapshot's memory and makes running copies of it. */
export class Holder {
  readonly pid: number;
  readonly socket: string;

  constructor(pid: number, socket: string) {
    this.pid = pid;
    this.socket = socket;
  }

  /** Makes one running copy. Either it is answered and runs, or nothing of it is left. */
  async restore(options: HolderRestoreOptions): Promise<HolderRestored> {
    await mkdir(options.work, { recursive: true, mode: 0o700 });
    const limitMs = options.limitMs ?? 60_000;
    const reply = await protocol.exchange({
      socket: this.socket,
      purpose: `restore into ${options.root}`,
      reply: protocol.restored,
      keep: true,
      limitMs,
      fields: [
        ["verb", "restore"],
        ["root", options.root],
        ["work", options.work],
        ["log", join(options.work, "restore.log")],
        ["deadline_ms", limitMs],
        ["oom_score", options.oomScoreAdj ?? 0],
        ...(options.uidBase === undefined ? [] : [["uid", options.uidBase] as const]),
        ...(options.cgroups ?? []).map((path) => ["cgroup", path] as const),
        ...(options.addresses ?? []).map((address) => ["addr", address] as const),
        ...(options.onNetworkNamespace === undefined ? [] : [["wait", "ns"] as const]),
      ],
      ...(options.onNetworkNamespace === undefined ? {} : { onNamespace: options.onNetworkNamespace }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    return { pid: reply.pid, ms: reply.ms, forkMs: reply.fork_ms };
  }

  /** Makes a holder of a child snapshot. It lives on its own: this one may be stopped. */
  async derive(options: DeriveOptions): Promise<Holder> {
    await mkdir(options.work, { recursive: true, mode: 0o700 });
    const limitMs = options.limitMs ?? 60_000;
    const reply = await protocol.exchange({
      socket: this.socket,
      purpose: `derive a holder of ${options.images}`,
      reply: protocol.derived,
      keep: true,
      limitMs,
      fields: [
        ["verb", "derive"],
        ["images", options.images],
        ["socket", options.socket],
        ["log", join(options.work, "holder.log")],
        ["deadline_ms", limitMs],
        ...(options.table === undefined ? [] : [["table", options.table] as const]),
      ],
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    return new Holder(reply.pid, options.socket);
  }

  async stat(): Promise<HolderStat> {
    const reply = await askStat(this.socket);
    return {
      pid: reply.pid,
      generation: reply.generation,
      tasks: reply.tasks,
      regions: reply.regions,
      heldBytes: reply.held_bytes,
      populatedBytes: reply.populated_bytes,
      inFlight: reply.in_flight,
    };
  }

  /**
   * Ends the holder. Trees that it has restored, restores under way and holders
   * derived from it go on. Nothing happens when it has ended already.
   */
  async stop(): Promise<void> {
    const born = await birthOf(this.pid);
    if (born === undefined) return;
    try {
      await protocol.exchange({
        socket: this.socket,
        purpose: "stop the holder",
        reply: protocol.done,
        keep: false,
        limitMs: 1000,
        fields: [["verb", "quit"]],
      });
    } catch {
      // It does not listen any more; the signal below reaches it.
      if ((await birthOf(this.pid)) === born) process.kill(this.pid, "SIGKILL");
    }
    const until = performance.now() + STOP_MS;
    // It need not be our child, so there is no event to wait for.
    while ((await birthOf(this.pid)) === born) {
      if (performance.now() > until) throw new CriuError("timeout", `holder ${this.pid} does not end`);
      await delay(2);
    }
    await rm(this.socket, { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** Tells processes with the same pid apart; undefined when there is none, or only a zombie. */
async function birthOf(pid: number): Promise<string | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function askStat(socket: string): Promise<z.infer<typeof protocol.stat>> {
  return protocol.exchange({
    socket,
    purpose: "ask the holder for its state",
    reply: protocol.stat,
    keep: false,
    limitMs: 2000,
    fields: [["verb", "stat"]],
  });
}

/** Finds a holder that was started earlier, by another process perhaps. Throws `holder-gone` when there is none. */
export async function attachHolder(socket: string): Promise<Holder> {
  const { pid } = await askStat(socket);
  return new Holder(pid, socket);
}

/** Collects `stream` until it holds a whole line that starts with `{"ready"`, or ends. */
async function readyLine(stream: Readable): Promise<string | undefined> {
  let text = "";
  for await (const chunk of stream) {
    text = (text + chunk).slice(-OUTPUT_BYTES);
    const line = text
      .split("\n")
      .slice(0, -1)
      .find((one) => one.startsWith('{"ready"'));
    if (line !== undefined) return line;
  }
  return undefined;
}

/** Loads a snapshot into a new holder, which lives on when the calling process ends. */
export async function startHolder(options: StartHolderOptions): Promise<Holder> {
  const { program, tree, work } = options;
  await prepareRunDirectory();
  await statFile(dirname(options.socket));
  await mkdir(work, { recursive: true, mode: 0o700 });
  const log = join(work, "holder.log");
  const child = spawn(
    program.path,
    [
      "restore",
      "-d",
      "-D",
      options.images,
      "-W",
      work,
      "-o",
      "holder.log",
      // Each request names its own root; criu only wants to see one.
      "--root",
      work,
      ...commonFlags(program, tree),
      ...tcpFlags(tree),
    ],
    {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...programEnvironment(program),
        CRIU_HOLDER: options.socket,
        ...(options.table === undefined ? {} : { CRIU_HOLDER_TABLE: options.table }),
        ...(options.fileMappings === "exact" ? { CRIU_HOLDER_FILES: "0" } : {}),
      },
    },
  );
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-OUTPUT_BYTES);
  });
  child.stdout.setEncoding("utf8");
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill("SIGKILL");
  }, options.limitMs ?? 60_000);
  const exited = once(child, "exit").catch(() => undefined);
  try {
    await once(child, "spawn");
    const line = await readyLine(child.stdout);
    if (line === undefined) {
      await exited;
      const fromFile = await readMeaningfulLines(log);
      throw new CriuError(timedOut ? "timeout" : "failed", `could not load ${options.images} into a holder`, {
        log: fromFile.length > 0 ? fromFile : meaningfulLines(stderr),
      });
    }
    const { pid } = protocol.ready.parse(JSON.parse(line));
    if (options.oomScoreAdj !== undefined) {
      await writeFile(`/proc/${pid}/oom_score_adj`, String(options.oomScoreAdj));
    }
    return new Holder(pid, options.socket);
  } catch (error) {
    child.kill("SIGKILL");
    if (error instanceof CriuError) throw error;
    throw new CriuError("not-started", `could not start a holder of ${options.images}`, { cause: error });
  } finally {
    clearTimeout(timer);
    child.stdout.destroy();
    child.stderr.destroy();
    child.unref();
  }
}
