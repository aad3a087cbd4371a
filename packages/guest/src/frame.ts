// SPDX-License-Identifier: Apache-2.0
import { protocolError } from "./errors.ts";
import { FRAME_PAYLOAD_MAX } from "./protocol.ts";

const HEADER = 5;

/** One frame: type u8, length u32 LE, payload. */
export interface GuestFrame {
  type: number;
  payload: Buffer;
}

export function encodeFrame(type: number, payload: Uint8Array = new Uint8Array(0)): Buffer {
  if (payload.length > FRAME_PAYLOAD_MAX) throw new RangeError(`A frame holds at most ${FRAME_PAYLOAD_MAX} bytes`);
  const frame = Buffer.allocUnsafe(HEADER + payload.length);
  frame.writeUInt8(type, 0);
  frame.writeUInt32LE(payload.length, 1);
  frame.set(payload, HEADER);
  return frame;
}

/**
 * Cuts a byte stream into frames. Holds at most one incomplete frame. What is left incomplete when the stream ends is
 * dropped: init sends that frame again, whole, to whoever attaches next.
 */
export class FrameReader {
  #parts: Buffer[] = [];
  #held = 0;

  /** @throws GuestError `protocol` when a frame claims more than the limit. */
  *push(chunk: Buffer): Generator<GuestFrame> {
    this.#parts.push(chunk);
    this.#held += chunk.length;
    for (;;) {
      if (this.#held < HEADER) return;
      const head = this.#first(HEADER);
      const length = head.readUInt32LE(1);
      if (length > FRAME_PAYLOAD_MAX) throw protocolError(`a frame of ${length} bytes`);
      if (this.#held < HEADER + length) return;
      const whole = this.#first(HEADER + length);
      this.#drop(HEADER + length);
      yield { type: whole.readUInt8(0), payload: whole.subarray(HEADER, HEADER + length) };
    }
  }

  /** A buffer that begins with the next `size` held bytes. */
  #first(size: number): Buffer {
    const first = this.#parts[0];
    if (first && first.length >= size) return first;
    const joined = Buffer.concat(this.#parts);
    this.#parts = [joined];
    return joined;
  }

  #drop(size: number): void {
    const first = this.#first(size);
    this.#held -= size;
    if (first.length === size) this.#parts.shift();
    else this.#parts[0] = first.subarray(size);
  }
}
