// SPDX-License-Identifier: Apache-2.0
/**
 * The agent's connections to one sandbox's init. None may be open while the sandbox is checkpointed: `whileDetached`
 * lets go of all of them, holds new ones back, and lets every running exec go on where it stopped.
 */
import { request as httpRequest } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { CollimateError } from "@collimate/contracts";
import { type ExecRequest, GuestClient, GuestError, type GuestFile, LISTEN_NAME } from "@collimate/guest";
import { HostError, type Hostd, type ProcessRef } from "@collimate/host";
import { CheckpointGate, type InTurn } from "./checkpoint-gate.ts";

export type RunHow = { readonly shell: string } | { readonly argv: readonly string[] } | { readonly code: string };

export type RunRequest = RunHow & {
  /** Added to what the sandbox was booted with. For code: for this cell alone. */
  readonly env?: Readonly<Record<string, string>>;
  /** Code without one runs where the interpreter stands. */
  readonly cwd?: string;
  /** Empty: root. Code runs as the interpreter's user, which is root. */
  readonly user?: string;
  readonly stdin?: Buffer;
  readonly timeoutMs: number;
  /** 64 hex digits. */
  readonly seed?: string;
};

export interface RunHandlers {
  onStdout(chunk: Buffer): void | Promise<void>;
  onStderr(chunk: Buffer): void | Promise<void>;
  readonly signal?: AbortSignal;
}

export interface RunEnd {
  /** 128 + signal when a signal ended it. */
  readonly exitCode: number;
  readonly signal: number;
  readonly timedOut: boolean;
  /** SIGKILL that the agent did not send: out of memory, most likely. */
  readonly killedFromOutside: boolean;
  readonly seedAck: "partial" | "off";
}

const SIGKILL = 9;
const KILLED: RunEnd = { exitCode: 128 + SIGKILL, signal: SIGKILL, timedOut: false, killedFromOutside: true, seedAck: "off" };

const QUIESCE_WAIT_MS = 2_000;
const QUIESCE_TRIES = 5;
/** Past any cap of ours: the caps are counted by stream where the output goes. */
const OUTPUT_UNLIMITED = Number.MAX_SAFE_INTEGER;
/** How a transfer ends that a checkpoint does not wait for: told by init, or before it could tell. */
const CUT_OFF: ReadonlySet<string> = new Set(["interrupted", "disconnected"]);
const UP_LIMIT_MS = 10_000;
const UP_POLL_MS = 5;
const HTTP_LIMIT_MS = 5_000;
/** How a connection fails whose other end dies. */
const BROKEN: ReadonlySet<GuestError["code"]> = new Set(["disconnected", "protocol", "no_answer"]);

export class GuestLinks {
  readonly #hostd: Pick<Hostd, "dial">;
  readonly #process: ProcessRef;
  readonly #client: GuestClient;
  readonly #closed = new AbortController();
  readonly #gate = new CheckpointGate();

  constructor(hostd: Pick<Hostd, "dial">, process: ProcessRef) {
    this.#hostd = hostd;
    this.#process = process;
    this.#client = new GuestClient(() => this.#dial());
  }

  /** Resolves when init answers. A program that was just started listens a moment later, and has no way to say so. */
  async untilUp(): Promise<void> {
    const until = performance.now() + UP_LIMIT_MS;
    for (;;) {
      try {
        await this.#client.ping();
        return;
      } catch (error) {
        if (performance.now() > until) throw await this.#explain(error);
        await delay(UP_POLL_MS, undefined, { signal: this.#closed.signal });
      }
    }
  }

  /** Tells a restored sandbox who it is now. */
  async identify(who: { readonly hostname: string; readonly id: string; readonly entropy: Buffer }): Promise<void> {
    await this.#client.identity({
      hostname: who.hostname,
      sandboxId: who.id,
      generation: who.entropy.readUInt32LE(0),
      entropy: who.entropy,
    });
  }

  async run(request: RunRequest, handlers: RunHandlers): Promise<RunEnd> {
    const signal = handlers.signal ? AbortSignal.any([handlers.signal, this.#closed.signal]) : this.#closed.signal;
    try {
      const result = await this.#client.exec(toGuest(request), {
        onStdout: (chunk) => handlers.onStdout(chunk),
        onStderr: (chunk) => handlers.onStderr(chunk),
        maxOutputBytes: OUTPUT_UNLIMITED,
        signal,
        reconnect: () => this.#gate.opened(),
      });
      return {
        exitCode: result.exitCode,
        signal: result.signal,
        timedOut: result.timedOut,
        killedFromOutside: result.killedFromOutside,
        seedAck: result.seedAck,
      };
    } catch (error) {
      // What runs inside may kill the process that serves it: an end like any other.
      if (error instanceof GuestError && error.code === "process_killed" && !this.#closed.signal.aborted) return KILLED;
      throw await this.#explain(error);
    }
  }

  async writeFile(path: string, content: Buffer, inTurn: InTurn): Promise<void> {
    await this.#transfer(() => this.#client.put(path, content), inTurn).catch(async (error: unknown) => {
      throw await this.#explain(error);
    });
  }

  /** Writes a file as a whole. `bytes` gives them from the first one on, as often as asked. */
  async putFile(path: string, mode: number | undefined, bytes: () => AsyncIterable<Uint8Array>, inTurn: InTurn): Promise<void> {
    await this.#transfer(() => this.#client.put(path, bytes(), mode), inTurn).catch(async (error: unknown) => {
      throw await this.#explainFile(error);
    });
  }

  /** Opens a regular file for `read`, which is called again from the start when a checkpoint comes between. */
  async getFile<T>(path: string, read: (file: GuestFile) => Promise<T>, inTurn: InTurn): Promise<T> {
    const transfer = async () => {
      await using file = await this.#client.get(path);
      return await read(file);
    };
    return this.#transfer(transfer, inTurn).catch(async (error: unknown) => {
      throw await this.#explainFile(error);
    });
  }

  /**
   * Starts the image's Python, if it has one, in this folder, so that later code finds it there, and sets aside what the
   * ready check has loaded, so that no child copies it.
   */
  async startInterpreter(folder: string): Promise<void> {
    const code = `__import__("os").chdir(${JSON.stringify(folder)})`;
    await this.#client.exec({ code, language: "python", settle: true, timeoutMs: 60_000 }, { signal: this.#closed.signal });
  }

  /** A connection to a port inside. A fork leaves it alone: the parent keeps it, in children it is closed. */
  connect(port: number): Promise<Duplex> {
    return this.#hostd.dial(this.#process, { tcp: port }, { signal: this.#closed.signal });
  }

  /** Status of a GET to a server inside, on its loopback. */
  async httpStatus(port: number, path: string): Promise<number> {
    const signal = AbortSignal.any([AbortSignal.timeout(HTTP_LIMIT_MS), this.#closed.signal]);
    const socket = await this.#hostd.dial(this.#process, { tcp: port }, { signal });
    try {
      return await new Promise<number>((resolve, reject) => {
        const call = httpRequest(
          { createConnection: () => socket, host: "localhost", port, path, signal, headers: { connection: "close" } },
          (reply) => {
            reply.resume();
            resolve(reply.statusCode ?? 0);
          },
        );
        call.once("error", reject);
        call.end();
      });
    } finally {
      socket.destroy();
    }
  }

  /** Runs `work` (a checkpoint) while nothing from outside is connected. */
  async whileDetached<T>(work: () => Promise<T>): Promise<T> {
    const quiet = new GuestClient(() => this.#hostd.dial(this.#process, { abstract: LISTEN_NAME }));
    try {
      return await this.#gate.shutWhile(async () => {
        let open = 1;
        for (let attempt = 0; attempt < QUIESCE_TRIES && open > 0; attempt++) open = await quiet.quiesce(QUIESCE_WAIT_MS);
        if (open > 0)
          throw new CollimateError(
            "not_captureable",
            `the sandbox keeps ${open} connections to the platform open; try again when its transfers have ended`,
          );
        return await work();
      });
    } catch (error) {
      throw await this.#explain(error);
    }
  }

  /** Aborted when the sandbox is going away. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Ends every stream: the sandbox is going away. */
  close(): void {
    this.#closed.abort(new CollimateError("session_gone", "the sandbox has ended"));
  }

  async #hasEnded(): Promise<boolean> {
    const probe = this.#gate.pass(() => this.#hostd.dial(this.#process, { abstract: LISTEN_NAME }));
    return probe.then((socket) => (socket.destroy(), false), isGone);
  }

  #dial(): Promise<Duplex> {
    return this.#gate.pass(() => {
      this.#closed.signal.throwIfAborted();
      return this.#hostd.dial(this.#process, { abstract: LISTEN_NAME }, { signal: this.#closed.signal });
    });
  }

  /** A file transfer. One that a checkpoint ended has left no trace of itself inside. */
  #transfer<T>(transfer: () => Promise<T>, inTurn: InTurn): Promise<T> {
    const wasCutOff = (error: unknown) => error instanceof GuestError && CUT_OFF.has(error.code) && !this.#closed.signal.aborted;
    return this.#gate.undisturbed(transfer, wasCutOff, inTurn);
  }

  /** That the named file is not there is the answer here. */
  async #explainFile(error: unknown): Promise<unknown> {
    const missing = error instanceof GuestError && error.code === "not_found" && !this.#closed.signal.aborted;
    return missing ? new CollimateError("not_found", error.message, { cause: error }) : this.#explain(error);
  }

  /** What a sandbox does to itself is told as such. */
  async #explain(error: unknown): Promise<unknown> {
    if (this.#closed.signal.aborted) return this.#closed.signal.reason;
    // Its init may have ended, which is noticed here, in the middle of a frame or not, before the watch tells it.
    if (isGone(error) || (error instanceof GuestError && BROKEN.has(error.code) && (await this.#hasEnded()))) {
      return new CollimateError("session_gone", "the sandbox has ended", { cause: error });
    }
    if (!(error instanceof GuestError)) return error;
    switch (error.code) {
      case "bad_request":
      case "too_large":
      case "not_found":
      case "file_error":
        return new CollimateError("bad_request", error.message, { cause: error });
      default:
        return new CollimateError("upstream_error", error.message, { cause: error });
    }
  }
}

/** The mechanism daemon knows processes by their start time: this is no other with the same number. */
const isGone = (error: unknown): boolean => error instanceof HostError && error.code === "gone";

function toGuest(request: RunRequest): ExecRequest {
  const settings = {
    ...(request.env ? { env: { ...request.env } } : {}),
    ...(request.cwd ? { cwd: request.cwd } : {}),
    timeoutMs: request.timeoutMs,
    killOnDisconnect: true,
    ...(request.seed ? { seed: Buffer.from(request.seed, "hex") } : {}),
  };
  if ("code" in request) return { ...settings, code: request.code, language: "python" };
  const command = { ...settings, ...(request.user ? { user: request.user } : {}), ...(request.stdin ? { stdin: request.stdin } : {}) };
  return "shell" in request ? { ...command, shell: request.shell } : { ...command, argv: request.argv };
}
