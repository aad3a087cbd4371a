// SPDX-License-Identifier: Apache-2.0
import { protocolError } from "./errors.ts";

/** Where output goes. Buffers are handed on as they come: a character may be cut at a border. */
export interface OutputHandlers {
  /** A promise that is returned holds the stream back until it resolves. Without a handler the stream is collected. */
  onStdout?: (chunk: Buffer) => void | Promise<void>;
  onStderr?: (chunk: Buffer) => void | Promise<void>;
  /** Both streams together; what comes after is read and dropped, and the result says truncated. Default 64 MiB. */
  maxOutputBytes?: number;
}

const DEFAULT_MAX = 64 * 1024 * 1024;

class Stream {
  readonly chunks: Buffer[] = [];
  /** Received from the sandbox, kept or not. */
  received = 0;
  /** Where this client came in: an attach starts in the middle. */
  base: number | undefined;
}

export interface CollectedOutput {
  stdout: Buffer;
  stderr: Buffer;
  stdoutBytes: number;
  stderrBytes: number;
  truncated: boolean;
}

/** Counts, caps and hands on the two streams of one exec. */
export class OutputSink {
  readonly #handlers: OutputHandlers;
  readonly #out = new Stream();
  readonly #err = new Stream();
  #room: number;
  #truncated = false;

  constructor(handlers: OutputHandlers) {
    this.#handlers = handlers;
    this.#room = handlers.maxOutputBytes ?? DEFAULT_MAX;
  }

  async stdout(chunk: Buffer): Promise<void> {
    await this.#take(this.#out, chunk, this.#handlers.onStdout);
  }

  async stderr(chunk: Buffer): Promise<void> {
    await this.#take(this.#err, chunk, this.#handlers.onStderr);
  }

  /** Checks that an attached stream goes on exactly where this one stopped. */
  expectOffsets(stdout: number, stderr: number): void {
    for (const [stream, offset] of [
      [this.#out, stdout],
      [this.#err, stderr],
    ] as const) {
      stream.base ??= offset - stream.received;
      if (stream.base + stream.received !== offset) {
        throw protocolError(`the stream goes on at byte ${offset}, byte ${stream.base + stream.received} is due`);
      }
    }
  }

  finish(): CollectedOutput {
    return {
      stdout: Buffer.concat(this.#out.chunks),
      stderr: Buffer.concat(this.#err.chunks),
      stdoutBytes: this.#out.received,
      stderrBytes: this.#err.received,
      truncated: this.#truncated,
    };
  }

  async #take(stream: Stream, chunk: Buffer, handler?: (chunk: Buffer) => void | Promise<void>): Promise<void> {
    stream.received += chunk.length;
    const kept = chunk.subarray(0, this.#room);
    this.#room -= kept.length;
    if (kept.length < chunk.length) this.#truncated = true;
    if (kept.length === 0) return;
    if (handler) await handler(kept);
    else stream.chunks.push(kept);
  }
}
