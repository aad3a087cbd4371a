// SPDX-License-Identifier: Apache-2.0
import type { Context } from "../context.ts";
import { sweepOnce } from "./sweeps.ts";

/** Sweeps at once and then again and again, with a pause between. */
export class Sweeper {
  readonly #ctx: Context;
  readonly #stop = Promise.withResolvers<"stop">();
  readonly #ended: Promise<void>;

  constructor(ctx: Context) {
    this.#ctx = ctx;
    this.#ended = this.#run();
  }

  /** Resolves when the round under way has ended. */
  async close(): Promise<void> {
    this.#stop.resolve("stop");
    await this.#ended;
  }

  async #run(): Promise<void> {
    for (let round = 0; ; round++) {
      await sweepOnce(this.#ctx, round);
      if ((await this.#pause()) === "stop") return;
    }
  }

  async #pause(): Promise<"stop" | "go on"> {
    // Spread a little, so that several schedulers do not meet at the same locks each time.
    const pauseMs = this.#ctx.policy.sweepMs * (0.9 + Math.random() * 0.2);
    const { promise, resolve } = Promise.withResolvers<"go on">();
    const timer = setTimeout(resolve, pauseMs, "go on");
    try {
      return await Promise.race([promise, this.#stop.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}
