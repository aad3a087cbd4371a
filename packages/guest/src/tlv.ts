// SPDX-License-Identifier: Apache-2.0
import { protocolError } from "./errors.ts";

const HEADER = 5;

/** Builds a list of fields: tag u8, length u32 LE, bytes. */
export class FieldWriter {
  readonly #parts: Buffer[] = [];

  bytes(tag: number, value: Uint8Array): this {
    const head = Buffer.allocUnsafe(HEADER);
    head.writeUInt8(tag, 0);
    head.writeUInt32LE(value.length, 1);
    this.#parts.push(head, Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    return this;
  }

  text(tag: number, value: string): this {
    return this.bytes(tag, Buffer.from(value, "utf8"));
  }

  u8(tag: number, value: number): this {
    return this.bytes(tag, Uint8Array.of(value));
  }

  u32(tag: number, value: number): this {
    const bytes = Buffer.allocUnsafe(4);
    bytes.writeUInt32LE(value, 0);
    return this.bytes(tag, bytes);
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** Fields of one received frame. A repeated tag keeps its last value, except where `all` is asked. */
export class Fields {
  readonly #entries: [number, Buffer][] = [];

  constructor(data: Buffer) {
    let at = 0;
    while (at < data.length) {
      if (data.length - at < HEADER) throw protocolError("a field without a whole header");
      const length = data.readUInt32LE(at + 1);
      if (length > data.length - at - HEADER) throw protocolError("a field that is longer than its frame");
      this.#entries.push([data.readUInt8(at), data.subarray(at + HEADER, at + HEADER + length)]);
      at += HEADER + length;
    }
  }

  all(tag: number): Buffer[] {
    return this.#entries.filter(([one]) => one === tag).map(([, value]) => value);
  }

  optionalText(tag: number): string | undefined {
    return this.all(tag).at(-1)?.toString("utf8");
  }

  text(tag: number): string {
    return this.#must(tag).toString("utf8");
  }

  u32(tag: number): number {
    const value = this.#must(tag);
    if (value.length !== 4) throw protocolError(`field ${tag} is not a 32-bit number`);
    return value.readUInt32LE(0);
  }

  /** A 64-bit count; everything we count fits a double exactly. */
  u64(tag: number): number {
    const value = this.#must(tag);
    if (value.length !== 8) throw protocolError(`field ${tag} is not a 64-bit number`);
    const number = value.readBigUInt64LE(0);
    if (number > BigInt(Number.MAX_SAFE_INTEGER)) throw protocolError(`field ${tag} is out of range`);
    return Number(number);
  }

  flag(tag: number): boolean {
    return this.all(tag).at(-1)?.[0] === 1;
  }

  #must(tag: number): Buffer {
    const value = this.all(tag).at(-1);
    if (!value) throw protocolError(`field ${tag} is missing`);
    return value;
  }
}
