// SPDX-License-Identifier: Apache-2.0
/** Telling, and waiting for, the end of an operation. A message can be missed; a wait still ends. */
import { operationChannel, type OperationEnd, operationEndSchema } from "@collimate/contracts";
import type { Redis } from "ioredis";

export interface WaitOptions {
  /** Longest wait, in ms. */
  readonly timeoutMs: number;
  /** Reads the operation's row: its end, or undefined while it goes on. Asked at once and then every `pollMs`. */
  readonly poll: () => Promise<OperationEnd | undefined>;
  readonly pollMs?: number;
  /** The caller has gone. */
  readonly signal?: AbortSignal;
}

type Listener = (end: OperationEnd) => void;

export class OperationEnds {
  readonly #producer: Redis;
  readonly #subscriber: Redis;
  readonly #onError: (error: Error) => void;
  /** Who listens on which channel; a channel is subscribed to while it has listeners. */
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(producer: Redis, subscriber: Redis, onError: (error: Error) => void) {
    this.#producer = producer;
    this.#subscriber = subscriber;
    this.#onError = onError;
    subscriber.on("message", (channel: string, text: string) => this.#deliver(channel, text));
  }

  async publish(operationId: string, end: OperationEnd): Promise<void> {
    await this.#producer.publish(operationChannel(operationId), JSON.stringify(operationEndSchema.parse(end))).catch(this.#onError);
  }

  async wait(operationId: string, options: WaitOptions): Promise<OperationEnd | undefined> {
    const channel = operationChannel(operationId);
    const { promise, resolve } = Promise.withResolvers<OperationEnd | undefined>();
    const giveUp = () => resolve(undefined);
    this.#listen(channel, resolve);
    const deadline = setTimeout(giveUp, options.timeoutMs);
    options.signal?.addEventListener("abort", giveUp, { once: true });
    if (options.signal?.aborted) giveUp();
    const poller = this.#poll(options, resolve);
    try {
      return await promise;
    } finally {
      poller.stop();
      clearTimeout(deadline);
      options.signal?.removeEventListener("abort", giveUp);
      this.#unlisten(channel, resolve);
    }
  }

  close(): void {
    this.#subscriber.disconnect();
  }

  /** One question at a time; one that fails is told and asked again. */
  #poll(options: WaitOptions, found: Listener): { stop(): void } {
    let timer: NodeJS.Timeout | undefined;
    let stopped = false;
    const ask = async () => {
      const end = await options.poll().catch((error: unknown) => {
        this.#onError(error instanceof Error ? error : new Error(String(error)));
        return undefined;
      });
      if (stopped) return;
      if (end) found(end);
      else timer = setTimeout(() => void ask(), options.pollMs ?? 1_000);
    };
    void ask();
    return {
      stop: () => {
        stopped = true;
        clearTimeout(timer);
      },
    };
  }

  #listen(channel: string, listener: Listener): void {
    const listeners = this.#listeners.get(channel);
    if (listeners) return void listeners.add(listener);
    this.#listeners.set(channel, new Set([listener]));
    this.#subscriber.subscribe(channel).catch(this.#onError);
  }

  #unlisten(channel: string, listener: Listener): void {
    const listeners = this.#listeners.get(channel);
    if (!listeners?.delete(listener) || listeners.size > 0) return;
    this.#listeners.delete(channel);
    this.#subscriber.unsubscribe(channel).catch(this.#onError);
  }

  #deliver(channel: string, text: string): void {
    const parsed = operationEndSchema.safeParse(parseJson(text));
    if (!parsed.success) return this.#onError(new Error(`a message on ${channel} is no operation's end`));
    for (const listener of this.#listeners.get(channel) ?? []) listener(parsed.data);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
