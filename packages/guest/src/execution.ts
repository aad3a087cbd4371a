// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import { GuestError, protocolError } from "./errors.ts";
import { GuestConnection } from "./connection.ts";
import type { Dial } from "./connection.ts";
import type { GuestFrame } from "./frame.ts";
import { OutputSink } from "./output.ts";
import type { OutputHandlers } from "./output.ts";
import { Frame, ResultFlag, Tag } from "./protocol.ts";
import { attachFields, execFields } from "./request.ts";
import type { ExecRequest } from "./request.ts";
import { StdinPump } from "./stdin.ts";
import { Fields } from "./tlv.ts";

const GREETING_MS = 10_000;
/** How long after its time limit an exec may still be silent, in ms, before its handler counts as stuck. */
const LIMIT_SLACK_MS = 15_000;

/** What was asked, for an exec that this client began. */
interface Begun {
  fields: Buffer;
  stdin?: StdinPump;
  silenceMs?: number;
}

/** How a command or a cell ended. Times out, gets killed, exits non-zero: all of these are results, not errors. */
export interface ExecResult {
  /** 0 to 255; 128 + the signal for a process that a signal ended, as a shell says it. */
  exitCode: number;
  /** 0 when no signal ended it. */
  signal: number;
  timedOut: boolean;
  /** Ended because the client asked for it. */
  cancelled: boolean;
  /** A SIGKILL that was not ours: most likely out of memory. */
  killedFromOutside: boolean;
  /** The interpreter ended with the code; its state is gone. */
  interpreterLost: boolean;
  /** Run time inside the sandbox, in microseconds. */
  durationUs: number;
  /** `partial`: the interpreter's own generators were seeded; `off`: no seed was given or none could be applied. */
  seedAck: "partial" | "off";
  /** Collected output; empty for a stream that has a handler. */
  stdout: Buffer;
  stderr: Buffer;
  /** Bytes the command wrote, kept or not. */
  stdoutBytes: number;
  stderrBytes: number;
  /** Output beyond maxOutputBytes was dropped. */
  truncated: boolean;
}

export interface ExecOptions extends OutputHandlers {
  /** Aborting closes the connection; with killOnDisconnect that ends the command's process tree. */
  signal?: AbortSignal;
  /**
   * Called when the connection ended before the result, as it does when the sandbox is checkpointed. Resolve it when
   * the sandbox can be dialled again: the stream then goes on where it stopped. Reject it, or leave it out, to fail.
   */
  reconnect?: () => Promise<void>;
}

/** A running command or cell. */
export class Execution {
  /** Resolves with the result; rejects with a GuestError. Pending for good after `detach`. */
  readonly result: Promise<ExecResult>;
  readonly #dial: Dial;
  readonly #options: ExecOptions;
  readonly #sink: OutputSink;
  readonly #begun: Begun | undefined;
  #connection: GuestConnection;
  readonly id: string;
  #pid = 0;
  /** Settled once this connection is the exec's: what is sent on an attach before that would be lost. */
  #ready = Promise.withResolvers<void>();
  /** What this connection asked for: to attach, or to begin the exec. */
  #attaching: boolean;
  /** Init has said that the exec never began: only then may it be asked for again. */
  #mustBegin = false;
  readonly #detached = Promise.withResolvers<void>();
  #detaching = false;

  private constructor(dial: Dial, connection: GuestConnection, id: string, options: ExecOptions, begun?: Begun) {
    this.#dial = dial;
    this.#connection = connection;
    this.id = id;
    this.#options = options;
    this.#sink = new OutputSink(options);
    this.#begun = begun;
    this.#attaching = begun === undefined;
    this.result = this.#run();
    this.result.catch(() => undefined); // the caller may look at it later
  }

  static async start(dial: Dial, request: ExecRequest, options: ExecOptions): Promise<Execution> {
    options.signal?.throwIfAborted();
    const id = request.id ?? `exec-${randomUUID()}`;
    const fields = execFields({ ...request, id });
    const connection = await GuestConnection.open(dial, fields, GREETING_MS);
    const stdin = "stdin" in request && request.stdin ? new StdinPump(request.stdin) : undefined;
    const execution = new Execution(dial, connection, id, options, {
      fields,
      stdin,
      silenceMs: request.timeoutMs ? request.timeoutMs + LIMIT_SLACK_MS : undefined,
    });
    execution.#ready.resolve();
    return execution;
  }

  /** Takes over the stream of an exec that was detached, from the first byte that no client has got. */
  static async attach(dial: Dial, id: string, options: ExecOptions): Promise<Execution> {
    options.signal?.throwIfAborted();
    const connection = await GuestConnection.open(dial, attachFields(id), GREETING_MS);
    return new Execution(dial, connection, id, options);
  }

  /** Process id inside the sandbox; 0 before it started. */
  get pid(): number {
    return this.#pid;
  }

  /** Sends a signal to the command's process group. For a cell, and for SIGKILL, it ends the whole tree. */
  async kill(signal: number): Promise<void> {
    const number = Buffer.alloc(4);
    number.writeUInt32LE(signal, 0);
    await this.#send(Frame.signal, number);
  }

  /** Lets the command run on without us. Resolves once every byte sent until then was handled, or it has ended. */
  async detach(): Promise<void> {
    this.#detaching = true;
    await this.#send(Frame.detach);
    await this.#detached.promise;
  }

  async #send(type: number, payload?: Uint8Array): Promise<void> {
    await Promise.race([this.#ready.promise, this.result]);
    await this.#connection.send(type, payload);
  }

  async #run(): Promise<ExecResult> {
    const { signal, reconnect } = this.#options;
    const abort = (): void => this.#connection.destroy();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      for (;;) {
        const result = await this.#stream();
        if (result) return result;
        await this.#connection[Symbol.asyncDispose](); // the handler waits for our end before it lets go of its own
        signal?.throwIfAborted();
        if (this.#detaching) {
          this.#detached.resolve();
          return await new Promise<never>(() => undefined);
        }
        if (!reconnect) throw this.#killed();
        this.#ready = Promise.withResolvers<void>();
        await reconnect();
        signal?.throwIfAborted();
        await this.#connectAgain();
      }
    } finally {
      this.#detached.resolve();
      signal?.removeEventListener("abort", abort);
      await this.#connection[Symbol.asyncDispose]();
    }
  }

  #killed(cause?: unknown): GuestError {
    return new GuestError("process_killed", "The sandbox process that ran this exec was killed before it could report", { cause });
  }

  /** To the running exec; or, when init has said that it never began, to a new try. */
  async #connectAgain(): Promise<void> {
    const fields = this.#mustBegin ? this.#begun?.fields : undefined;
    if (fields) this.#ready.resolve();
    this.#mustBegin = false;
    this.#attaching = fields === undefined;
    this.#connection = await GuestConnection.open(this.#dial, fields ?? attachFields(this.id), GREETING_MS);
  }

  /** Handles frames until the result (returned) or the end of the connection (undefined). */
  async #stream(): Promise<ExecResult | undefined> {
    const connection = this.#connection;
    for (;;) {
      const frame = await this.#next(connection);
      if (!frame) return undefined;
      const result = await this.#handle(connection, frame);
      if (result) return result;
    }
  }

  async #next(connection: GuestConnection): Promise<GuestFrame | undefined> {
    try {
      return await connection.next(this.#begun?.silenceMs);
    } catch (error) {
      if (!(error instanceof GuestError)) throw error;
      if (error.code === "interrupted" && this.#options.reconnect) {
        this.#mustBegin = !this.#attaching;
        return undefined;
      }
      throw error.code === "no_such_exec" && this.#begun ? this.#killed(error) : error;
    }
  }

  async #handle(connection: GuestConnection, frame: GuestFrame): Promise<ExecResult | undefined> {
    switch (frame.type) {
      case Frame.started: {
        const fields = new Fields(frame.payload);
        this.#pid = fields.u32(Tag.pid);
        this.#begun?.stdin?.run(connection, 0);
        return undefined;
      }
      case Frame.attached: {
        const fields = new Fields(frame.payload);
        this.#sink.expectOffsets(fields.u64(Tag.stdoutOffset), fields.u64(Tag.stderrOffset));
        this.#begun?.stdin?.run(connection, fields.u64(Tag.stdinOffset));
        this.#ready.resolve();
        return undefined;
      }
      case Frame.stdout:
        await this.#sink.stdout(frame.payload);
        return undefined;
      case Frame.stderr:
        await this.#sink.stderr(frame.payload);
        return undefined;
      case Frame.result:
        return this.#finish(new Fields(frame.payload));
      default:
        throw protocolError(`frame ${frame.type} in an exec`);
    }
  }

  #finish(fields: Fields): ExecResult {
    const flags = fields.u32(Tag.flags);
    return {
      exitCode: fields.u32(Tag.exitCode),
      signal: fields.u32(Tag.signal),
      timedOut: (flags & ResultFlag.timedOut) !== 0,
      cancelled: (flags & ResultFlag.cancelled) !== 0,
      killedFromOutside: (flags & ResultFlag.killedFromOutside) !== 0,
      interpreterLost: (flags & ResultFlag.interpreterLost) !== 0,
      durationUs: fields.u64(Tag.durationUs),
      seedAck: fields.text(Tag.seedAck) === "partial" ? "partial" : "off",
      ...this.#sink.finish(),
    };
  }
}
