// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { GuestError, protocolError } from "./errors.ts";
import { FrameReader, encodeFrame } from "./frame.ts";
import type { GuestFrame } from "./frame.ts";
import { Frame, PROTOCOL_VERSION, Tag } from "./protocol.ts";
import { requestFrames } from "./request.ts";
import { Fields } from "./tlv.ts";

/** Opens a fresh connection to a sandbox's init. */
export type Dial = () => Promise<Duplex>;

/** One connection: a request out, frames in. Disposing it closes it. */
export class GuestConnection implements AsyncDisposable {
  readonly #stream: Duplex;
  readonly #frames: AsyncGenerator<GuestFrame, void>;
  #failure: unknown;

  private constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on("error", (error) => (this.#failure ??= error));
    this.#frames = this.#read();
  }

  /** Dials, checks init's greeting and sends the request. */
  static async open(dial: Dial, fields: Buffer, deadlineMs: number): Promise<GuestConnection> {
    const connection = new GuestConnection(await dial());
    try {
      const hello = await connection.next(deadlineMs);
      if (hello?.type !== Frame.hello) throw protocolError("no greeting came first");
      const version = new Fields(hello.payload).u32(Tag.version);
      if (version !== PROTOCOL_VERSION) {
        throw protocolError(`version ${version} is spoken inside, version ${PROTOCOL_VERSION} here`);
      }
      for (const frame of requestFrames(fields)) await connection.#write(frame);
      return connection;
    } catch (error) {
      await connection[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The next frame; undefined when the connection has ended. A failure frame is thrown as a GuestError. */
  async next(deadlineMs?: number): Promise<GuestFrame | undefined> {
    const step = this.#frames.next();
    const { done, value } = deadlineMs === undefined ? await step : await this.#within(deadlineMs, step);
    if (done) return undefined;
    if (value.type === Frame.failure) {
      const fields = new Fields(value.payload);
      throw new GuestError(fields.text(Tag.failureCode), fields.text(Tag.message));
    }
    return value;
  }

  /** The one reply frame of a short operation. */
  async reply(deadlineMs: number): Promise<Fields> {
    const frame = await this.next(deadlineMs);
    if (!frame) throw this.ended("before the reply");
    if (frame.type !== Frame.reply) throw protocolError(`frame ${frame.type} in place of a reply`);
    return new Fields(frame.payload);
  }

  async send(type: number, payload?: Uint8Array): Promise<void> {
    await this.#write(encodeFrame(type, payload));
  }

  ended(when: string): GuestError {
    return new GuestError("disconnected", `The connection to the sandbox ended ${when}`, { cause: this.#failure });
  }

  destroy(): void {
    this.#stream.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stream.destroy();
    await this.#frames.return(undefined).catch(() => undefined);
  }

  async *#read(): AsyncGenerator<GuestFrame, void> {
    const reader = new FrameReader();
    try {
      // oxlint-disable-next-line typescript/no-unsafe-argument -- a stream without an encoding gives buffers
      for await (const chunk of this.#stream) yield* reader.push(chunk);
    } catch (error) {
      if (error instanceof GuestError) throw error;
      this.#failure ??= error; // a reset or our own destroy: the end, as far as frames go
    }
  }

  async #write(frame: Buffer): Promise<void> {
    if (this.#stream.destroyed || this.#stream.writableEnded) return; // the reading side reports how it ended
    if (this.#stream.write(frame)) return;
    const gone = new AbortController();
    try {
      await Promise.race([once(this.#stream, "drain", { signal: gone.signal }), once(this.#stream, "close", { signal: gone.signal })]);
    } catch (error) {
      this.#failure ??= error;
    } finally {
      gone.abort();
    }
  }

  async #within<T>(ms: number, step: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      reject(new GuestError("no_answer", `The sandbox did not answer within ${ms} ms`));
      this.#stream.destroy();
    }, ms);
    try {
      return await Promise.race([step, promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}
