// SPDX-License-Identifier: Apache-2.0
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";

import { HostClient } from "./client.ts";
import { type DialTarget, Handover } from "./dial.ts";
import { HostError } from "./errors.ts";
import { LineBuffer } from "./lines.ts";
import { type ProcessRef, readyLine } from "./operations.ts";

const READY_DEADLINE_MS = 5_000;
const STOP_DEADLINE_MS = 3_000;
const LOG_MAX_CHARS = 16_384;

export interface HostdOptions {
  /** The program that packages/host/build.sh makes. */
  binary: string;
  /** Where it shall listen; the path must not exist. At most 107 bytes (sun_path). */
  socket: string;
  /**
   * Put before the program, e.g. `["unshare", "--mount", "--propagation", "private"]`: the daemon mounts in the mount
   * namespace it is started in.
   */
  launcher?: readonly string[];
  /** Further arguments of the program. */
  arguments?: readonly string[];
  /** Its log lines (rare: they tell of misbehaving clients). */
  onLog?: (line: string) => void;
}

/**
 * A running collimate-hostd. It ends by itself when this process ends (its standard input is a pipe from us), leaving
 * sandboxes alone.
 */
export class Hostd implements AsyncDisposable {
  readonly socket: string;
  readonly pid: number;
  readonly client: HostClient;
  /** Settles (never rejects) when the daemon has ended, with what it logged last. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; log: string }>;
  readonly #child: ChildProcess;
  readonly #handover = new Handover();

  private constructor(child: ChildProcess, socket: string, pid: number, client: HostClient, ended: Hostd["ended"]) {
    this.#child = child;
    this.socket = socket;
    this.pid = pid;
    this.client = client;
    this.ended = ended;
    child.on("message", (message: unknown, handle: unknown) => this.#handover.take(message, handle));
    child.channel?.unref();
  }

  static async start(options: HostdOptions): Promise<Hostd> {
    const argv = [...(options.launcher ?? []), options.binary, "--socket", options.socket];
    const [program = options.binary, ...rest] = [...argv, ...(options.arguments ?? [])];
    const child = spawn(program, rest, { stdio: ["pipe", "pipe", "pipe", "ipc"] });
    child.stdin?.on("error", () => {}); // the daemon's end is told by `ended`
    const ended = watchEnd(child, options.onLog);
    try {
      const { pid } = await readiness(child, ended);
      return new Hostd(child, options.socket, pid, await HostClient.connect(options.socket), ended);
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    }
  }

  /**
   * A stream to a listener in the network namespace of a sandbox's process: the very socket, with nobody in between. A
   * checkpoint may be taken when the end inside is closed.
   */
  dial(process: ProcessRef, target: DialTarget, options: { signal?: AbortSignal } = {}): Promise<Socket> {
    return this.#handover.socket((token) => this.client.dial(token, process, target), options.signal);
  }

  /** Ends the daemon and what it is in the middle of; sandboxes stay. */
  async stop(): Promise<void> {
    this.client.close();
    this.#child.stdin?.end();
    const late = setTimeout(() => this.#child.kill("SIGKILL"), STOP_DEADLINE_MS);
    await this.ended;
    clearTimeout(late);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function watchEnd(child: ChildProcess, onLog: HostdOptions["onLog"]): Hostd["ended"] {
  let log = "";
  if (child.stderr)
    createInterface({ input: child.stderr }).on("line", (line) => {
      log = `${log}${line}\n`.slice(-LOG_MAX_CHARS);
      onLog?.(line);
    });
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ code: null, signal: null, log: error.message }));
    child.once("close", (code, signal) => resolve({ code, signal, log }));
  });
}

async function readiness(child: ChildProcess, ended: Hostd["ended"]): Promise<{ pid: number }> {
  const lines = new LineBuffer(4096);
  const deadline = AbortSignal.timeout(READY_DEADLINE_MS);
  const ready = async (): Promise<{ pid: number }> => {
    for (;;) {
      if (!child.stdout) throw new HostError("start", "system", "no standard output");
      const event: unknown[] = await once(child.stdout, "data", { signal: deadline }).catch((cause: unknown) => {
        throw new HostError("start", "deadline", `not ready within ${READY_DEADLINE_MS} ms`, undefined, cause);
      });
      const chunk = event[0];
      const [line] = Buffer.isBuffer(chunk) ? lines.push(chunk) : [];
      if (line !== undefined) return readyLine.parse(JSON.parse(line));
    }
  };
  const failed = ended.then(({ log }) => {
    throw new HostError("start", "system", `collimate-hostd ended before it was ready: ${log.trim() || "no reason given"}`);
  });
  return Promise.race([ready(), failed]);
}
