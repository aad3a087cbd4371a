// SPDX-License-Identifier: Apache-2.0
import { GuestConnection } from "./connection.ts";
import type { Dial } from "./connection.ts";
import { protocolError } from "./errors.ts";
import { Execution } from "./execution.ts";
import type { ExecOptions, ExecResult } from "./execution.ts";
import { FRAME_PAYLOAD_MAX, Frame, Tag } from "./protocol.ts";
import { getFields, identityFields, pingFields, putFields, quiesceFields } from "./request.ts";
import type { ExecRequest, GuestIdentity } from "./request.ts";
import type { Fields } from "./tlv.ts";

const REPLY_MS = 15_000;
/** Longest silence in a file transfer, in ms; init has the same patience (60 s). */
const TRANSFER_MS = 70_000;
/** Longest upload, in ms. */
const TRANSFER_LONGEST_MS = 3_600_000;

export interface GuestInfo {
  protocolVersion: number;
  /** The sandbox's own monotonic clock, in ms. */
  uptimeMs: number;
  generation: number;
  sandboxId: string;
  /** Processes that serve connections or stay for what a command left running. */
  handlers: number;
  /** Execs that run or whose result was not fetched. */
  execsRunning: number;
  /** Living interpreters, as "language pid". */
  kernels: string[];
}

/** A file that is open for reading. Dispose it: its connection stays open until then. */
export interface GuestFile extends AsyncDisposable {
  /** As the file system says it when it was opened; files of /proc say 0. */
  size: number;
  mode: number;
  /** The bytes, once. */
  content: AsyncGenerator<Buffer>;
}

/**
 * Client of one sandbox's init. Every call takes a connection of its own from `dial`.
 *
 * @example
 * const guest = new GuestClient(() => hostd.dial(pid, LISTEN_NAME));
 * const { exitCode, stdout } = await guest.exec({ shell: "ls /" });
 */
export class GuestClient {
  readonly #dial: Dial;

  constructor(dial: Dial) {
    this.#dial = dial;
  }

  /** Runs a command or code and waits for its end. */
  async exec(request: ExecRequest, options: ExecOptions = {}): Promise<ExecResult> {
    return await (
      await this.start(request, options)
    ).result;
  }

  /** Starts a command or code and returns at once, for who wants to signal or detach. */
  async start(request: ExecRequest, options: ExecOptions = {}): Promise<Execution> {
    return await Execution.start(this.#dial, request, options);
  }

  /** Takes over a detached exec. Rejects (through `result`) with `no_such_exec` if none of this id is kept. */
  async attach(id: string, options: ExecOptions = {}): Promise<Execution> {
    return await Execution.attach(this.#dial, id, options);
  }

  /** Starts the language's interpreter if it does not run yet; its start-up then costs no later cell anything. */
  async startKernel(language = "python", timeoutMs = 60_000): Promise<ExecResult> {
    return await this.exec({ code: "", language, timeoutMs });
  }

  /**
   * Writes a file: parents are made, the bytes go to a temporary name first. Mode as for chmod; missing: the old
   * file's, or 0644. Resolves with the number of bytes written.
   */
  async put(path: string, content: Uint8Array | AsyncIterable<Uint8Array>, mode?: number): Promise<number> {
    await using connection = await GuestConnection.open(this.#dial, putFields(path, mode), REPLY_MS);
    let refused = false;
    const answer = connection.reply(TRANSFER_LONGEST_MS);
    answer.catch(() => (refused = true));
    const chunks = content instanceof Uint8Array ? [content] : content;
    for await (const chunk of chunks) {
      if (refused) break;
      for (let at = 0; at < chunk.length; at += FRAME_PAYLOAD_MAX) {
        await connection.send(Frame.data, chunk.subarray(at, at + FRAME_PAYLOAD_MAX));
      }
    }
    await connection.send(Frame.dataEnd);
    return (await answer).u64(Tag.fileSize);
  }

  /** Opens a regular file for reading. */
  async get(path: string): Promise<GuestFile> {
    const connection = await GuestConnection.open(this.#dial, getFields(path), REPLY_MS);
    try {
      const head = await connection.reply(REPLY_MS);
      return {
        size: head.u64(Tag.fileSize),
        mode: head.u32(Tag.fileMode),
        content: readFile(connection),
        [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
      };
    } catch (error) {
      await connection[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Tells a restored sandbox who it is. False: the host name could not be set. */
  async identity(identity: GuestIdentity): Promise<{ hostnameSet: boolean }> {
    const reply = await this.#ask(identityFields(identity));
    return { hostnameSet: reply.flag(Tag.hostnameSet) };
  }

  /**
   * Before a checkpoint: every exec lets go of its client and buffers; file transfers get `waitMs` (at most 10 s) to
   * end. Resolves with the number of connections that are open in spite of that; checkpoint only at 0.
   */
  async quiesce(waitMs = 1000): Promise<number> {
    await using connection = await GuestConnection.open(this.#dial, quiesceFields(waitMs), REPLY_MS);
    const reply = await connection.reply(waitMs + REPLY_MS);
    while (await connection.next(REPLY_MS)); // its end: this connection, too, is closed inside
    return reply.u32(Tag.stillConnected);
  }

  async ping(): Promise<GuestInfo> {
    const reply = await this.#ask(pingFields());
    return {
      protocolVersion: reply.u32(Tag.version),
      uptimeMs: reply.u64(Tag.uptimeMs),
      generation: reply.u32(Tag.generation),
      sandboxId: reply.text(Tag.sandboxId),
      handlers: reply.u32(Tag.handlers),
      execsRunning: reply.u32(Tag.execsRunning),
      kernels: reply.all(Tag.kernel).map((one) => one.toString("utf8")),
    };
  }

  async #ask(fields: Buffer, deadlineMs = REPLY_MS): Promise<Fields> {
    await using connection = await GuestConnection.open(this.#dial, fields, REPLY_MS);
    return await connection.reply(deadlineMs);
  }
}

async function* readFile(connection: GuestConnection): AsyncGenerator<Buffer> {
  for (;;) {
    const frame = await connection.next(TRANSFER_MS);
    if (!frame) throw connection.ended("in the middle of a file");
    if (frame.type === Frame.dataEnd) return;
    if (frame.type !== Frame.data) throw protocolError(`frame ${frame.type} in a file`);
    yield frame.payload;
  }
}
