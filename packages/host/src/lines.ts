// SPDX-License-Identifier: Apache-2.0

/** Collects bytes into lines; a line longer than `limit` bytes is an error, not a growing buffer. */
export class LineBuffer {
  readonly #limit: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The lines that `chunk` completes, without their newlines. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      this.#keep(chunk.subarray(start, end));
      lines.push(Buffer.concat(this.#parts).toString("utf8"));
      this.#parts = [];
      this.#bytes = 0;
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#limit) throw new RangeError(`a line of more than ${this.#limit} bytes`);
    if (part.length > 0) this.#parts.push(part);
  }
}
