// SPDX-License-Identifier: Apache-2.0
import type { GuestConnection } from "./connection.ts";
import { GuestError } from "./errors.ts";
import { FRAME_PAYLOAD_MAX, Frame } from "./protocol.ts";

/** Feeds a command's standard input, over more than one connection if a checkpoint comes between. */
export class StdinPump {
  readonly #source: Uint8Array | AsyncIterable<Uint8Array>;
  #sent = 0;

  constructor(source: Uint8Array | AsyncIterable<Uint8Array>) {
    this.#source = source;
  }

  /** Sends what is left from `offset` on. Never throws: a lost connection is noticed by its reader. */
  run(connection: GuestConnection, offset: number): void {
    void this.#pump(connection, offset).catch(() => connection.destroy());
  }

  async #pump(connection: GuestConnection, offset: number): Promise<void> {
    if (this.#source instanceof Uint8Array) {
      for (let at = offset; at < this.#source.length; at += FRAME_PAYLOAD_MAX) {
        await connection.send(Frame.stdin, this.#source.subarray(at, at + FRAME_PAYLOAD_MAX));
      }
    } else {
      await this.#pumpIterable(connection, this.#source, offset);
    }
    await connection.send(Frame.stdinEnd);
  }

  async #pumpIterable(connection: GuestConnection, source: AsyncIterable<Uint8Array>, offset: number): Promise<void> {
    if (offset !== this.#sent || (offset > 0 && this.#sent > 0)) {
      throw new GuestError("input_lost", "A streamed standard input cannot be taken up again after a checkpoint");
    }
    for await (const chunk of source) {
      for (let at = 0; at < chunk.length; at += FRAME_PAYLOAD_MAX) {
        await connection.send(Frame.stdin, chunk.subarray(at, at + FRAME_PAYLOAD_MAX));
      }
      this.#sent += chunk.length;
    }
  }
}
