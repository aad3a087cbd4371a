// SPDX-License-Identifier: Apache-2.0
/** The output of one exec, gathered with a bound and turned into text. */
import { EXEC_OUTPUT_MAX } from "@collimate/contracts";

/** Bytes of output that all running execs hold together. */
export class OutputBudget {
  readonly limit: number;
  #held = 0;
  constructor(limit: number) {
    this.limit = limit;
  }
  get held(): number {
    return this.#held;
  }
  /** Asked before anything is run; what already runs may end. */
  get exhausted(): boolean {
    return this.#held >= this.limit;
  }
  take(bytes: number): void {
    this.#held += bytes;
  }
  give(bytes: number): void {
    this.#held -= bytes;
  }
}

/** One stream. Chunks may cut a character anywhere; the bytes are joined before they are decoded. */
export class OutputStream implements Disposable {
  readonly #budget: OutputBudget;
  readonly #max: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Bytes came after the bound and were dropped. */
  truncated = false;

  constructor(budget: OutputBudget, max: number = EXEC_OUTPUT_MAX) {
    this.#budget = budget;
    this.#max = max;
  }

  add(chunk: Buffer): void {
    const room = this.#max - this.#bytes;
    if (chunk.length > room) this.truncated = true;
    const kept = chunk.length > room ? chunk.subarray(0, room) : chunk;
    if (kept.length === 0) return;
    this.#chunks.push(kept);
    this.#bytes += kept.length;
    this.#budget.take(kept.length);
  }

  bytes(): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] ?? Buffer.alloc(0);
  }

  [Symbol.dispose](): void {
    this.#budget.give(this.#bytes);
    this.#bytes = 0;
    this.#chunks = [];
  }
}

/** Bytes of an incomplete UTF-8 character at the end (at most 3). */
function unfinishedTail(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

/** UTF-8, with U+FFFD only for bytes that are none. A character that the bound cut in two is left out. */
export function textOf(bytes: Buffer, cut: boolean): string {
  return bytes.toString("utf8", 0, cut ? bytes.length - unfinishedTail(bytes) : bytes.length);
}
