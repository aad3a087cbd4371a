// SPDX-License-Identifier: Apache-2.0
/** The output of one exec, kept until its reply is sent. Each stream has its cap already; all execs together have one here. */

/** Bytes that all running execs may hold together. */
export class OutputBudget {
  readonly limit: number;
  held = 0;
  constructor(limit: number) {
    this.limit = limit;
  }
  /** Asked before anything is run; what runs already may end. */
  get exhausted(): boolean {
    return this.held >= this.limit;
  }
}

export class Output implements Disposable {
  readonly #budget: OutputBudget;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(budget: OutputBudget) {
    this.#budget = budget;
  }

  readonly add = (chunk: Buffer): void => {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    this.#budget.held += chunk.length;
  };

  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  [Symbol.dispose](): void {
    this.#budget.held -= this.#bytes;
    this.#bytes = 0;
    this.#chunks = [];
  }
}

/** UTF-8, with U+FFFD for bytes that are none. Of a character that the cap cut in two, the first half is left out. */
export function textOf(bytes: Buffer, cut: boolean): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: cut });
}
