// SPDX-License-Identifier: Apache-2.0
/**
 * A file's bytes on their way between a caller and a sandbox, on the node's disk under no name. However slow the caller
 * is, the connection into the sandbox is open only as long as a local copy takes, a checkpoint that comes between has the
 * copy repeated, and size and hash are known before the first byte goes on.
 */
import { createHash, randomUUID } from "node:crypto";
import { open, unlink } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { CollimateError } from "@collimate/contracts";

const CHUNK = 256 * 1024;

export class Spool implements AsyncDisposable {
  readonly #file: FileHandle;
  size = 0;
  /** Lowercase hexadecimal digits. */
  sha256 = "";

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async open(folder: string): Promise<Spool> {
    const path = join(folder, randomUUID());
    const file = await open(path, "wx+", 0o600);
    try {
      await unlink(path); // the kernel frees it with its last descriptor, however this process ends
    } catch (error) {
      await file.close();
      throw error;
    }
    return new Spool(file);
  }

  /** Takes all of `source`, in place of what was there. `payload_too_large` or `at_capacity` when it does not fit. */
  async fill(source: AsyncIterable<Uint8Array>, most: number): Promise<void> {
    await this.#file.truncate(0);
    this.size = 0;
    const hash = createHash("sha256");
    for await (const chunk of source) {
      if (this.size + chunk.length > most)
        throw new CollimateError("payload_too_large", `the file has more than the ${most} bytes of the sandbox's disk`);
      await this.#append(chunk);
      hash.update(chunk);
    }
    this.sha256 = hash.digest("hex");
  }

  /** The bytes from the first one on, as often as asked. */
  async *chunks(): AsyncGenerator<Buffer> {
    for (let at = 0; at < this.size;) {
      const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(Math.min(CHUNK, this.size - at)), { position: at });
      if (bytesRead === 0) throw new Error(`a spooled file ended at ${at} of ${this.size} bytes`);
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  /** The bytes as a stream that takes the spool with it when it ends or is given up. */
  stream(): Readable {
    return this.#file.createReadStream({ start: 0, highWaterMark: CHUNK, autoClose: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  async #append(chunk: Uint8Array): Promise<void> {
    for (let done = 0; done < chunk.length;) {
      const { bytesWritten } = await this.#file.write(chunk, done, chunk.length - done, this.size).catch((cause: unknown) => {
        if (cause instanceof Error && "code" in cause && cause.code === "ENOSPC")
          throw new CollimateError("at_capacity", "the node's disk is full; nothing was changed", { cause });
        throw cause;
      });
      done += bytesWritten;
      this.size += bytesWritten;
    }
  }
}
