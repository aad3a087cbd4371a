// SPDX-License-Identifier: Apache-2.0
import type { Client } from "../client.ts";
import { BakeFailedError, DeadlineError, NotFoundError } from "../errors.ts";
import { sleep } from "../transport/sleep.ts";
import type { TemplateStatus } from "./status.ts";

const WAIT_MS = 600_000;
const POLL_FIRST_MS = 50;
const POLL_MAX_MS = 1_000;

export interface WaitOptions {
  /** Longest wait in ms. Default 600,000. */
  readonly timeoutMs?: number;
  /** Called with every status seen. What it throws ends the wait. */
  readonly onUpdate?: (status: TemplateStatus) => void;
  /** Reject as soon as the template has failed. Default true; false goes on until the time is over. */
  readonly failFast?: boolean;
  readonly signal?: AbortSignal;
}

/** One template of one server. */
export class TemplateHandle {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly #client: Client;
  #last: TemplateStatus;

  constructor(client: Client, status: TemplateStatus) {
    this.id = status.id;
    this.name = status.name;
    this.image = status.image;
    this.#client = client;
    this.#last = status;
  }

  async status(signal?: AbortSignal): Promise<TemplateStatus> {
    this.#last = await this.#client.getTemplate(this.id, signal);
    return this.#last;
  }

  /**
   * Waits until sandboxes can be made from it.
   * @throws {BakeFailedError} when it has failed or was deleted, with the build error.
   * @throws {DeadlineError} when the time is over.
   */
  async wait(options: WaitOptions = {}): Promise<TemplateStatus> {
    const limit = options.timeoutMs ?? WAIT_MS;
    const ends = Date.now() + limit;
    for (let pause = POLL_FIRST_MS; ; pause = Math.min(POLL_MAX_MS, pause * 2)) {
      const status = await this.#look(options.signal);
      options.onUpdate?.(status);
      if (status.convergeState === "converged") return status;
      if (status.phase === "Failed" && (options.failFast ?? true)) {
        throw new BakeFailedError(`template ${this.name} (${this.id}) failed: ${status.error || "the server gave no reason"}`, status);
      }
      if (Date.now() + pause > ends)
        throw new DeadlineError(
          `template ${this.name} (${this.id}) is ${status.phase} after ${limit} ms${status.error ? `: ${status.error}` : ""}`,
        );
      await sleep(pause, options.signal);
    }
  }

  async #look(signal: AbortSignal | undefined): Promise<TemplateStatus> {
    try {
      return await this.status(signal);
    } catch (error) {
      if (error instanceof NotFoundError) throw new BakeFailedError(`template ${this.name} (${this.id}) was deleted`, this.#last);
      throw error;
    }
  }
}
