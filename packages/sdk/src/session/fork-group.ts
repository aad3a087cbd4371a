// SPDX-License-Identifier: Apache-2.0
import type { Client } from "../client.ts";
import { ConfigurationError, ForkFailedError } from "../errors.ts";
import { number, record, records } from "../json.ts";
import type { ExecOptions, ExecResult } from "./exec.ts";
import { type MapOptions, mapAll } from "./map-all.ts";
import { readSandbox } from "./sandbox.ts";
import { groupSeeds, type SeedMode } from "./seed.ts";
import { Session } from "./session.ts";

export interface ForkOptions {
  /** Default `crn`: all children draw the same randomness. */
  readonly seedMode?: SeedMode;
  /** The seed of `crn` and `deterministic`; default: a fresh one, the fixed one. */
  readonly seed?: string;
  /** One per child, by position. */
  readonly labels?: readonly string[];
  /** Limit of a child's exec that names none, in seconds. Default: the parent's. */
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
}

/** The children of one fork, by position. Closing it deletes them; the parent is left alone. */
export class ForkGroup implements AsyncDisposable, Iterable<Session> {
  readonly parent: Session;
  readonly children: readonly Session[];
  readonly seeds: readonly (string | null)[];
  readonly groupId: string;
  /** Milliseconds at the server, -1 if it did not say: the whole fork, and how long the parent stood still. */
  readonly forkTimeMs: number;
  readonly pauseMs: number;
  readonly #client: Client;
  #closing: Promise<void> | undefined;

  constructor(
    client: Client,
    parent: Session,
    children: readonly Session[],
    facts: Pick<ForkGroup, "seeds" | "groupId" | "forkTimeMs" | "pauseMs">,
  ) {
    this.#client = client;
    this.parent = parent;
    this.children = children;
    this.seeds = facts.seeds;
    this.groupId = facts.groupId;
    this.forkTimeMs = facts.forkTimeMs;
    this.pauseMs = facts.pauseMs;
  }

  get length(): number {
    return this.children.length;
  }

  [Symbol.iterator](): Iterator<Session> {
    return this.children[Symbol.iterator]();
  }

  /**
   * Runs `work` on every child, all at once, and gives the results by position. The first error aborts `signal` for the
   * others, is waited out, and rejects.
   */
  map<T>(work: (child: Session, index: number, signal: AbortSignal) => Promise<T>, options: MapOptions = {}): Promise<T[]> {
    return mapAll(this.children, work, options);
  }

  /** Like `map`, but an error takes its place among the results instead of ending the others. */
  mapSettled<T>(work: (child: Session, index: number) => Promise<T>, options: MapOptions = {}): Promise<PromiseSettledResult<T>[]> {
    const settled = async (child: Session, index: number): Promise<PromiseSettledResult<T>> => {
      const [result] = await Promise.allSettled([work(child, index)]);
      return result;
    };
    return mapAll(this.children, settled, options);
  }

  /** The same exec in every child. */
  execEach(request: ExecOptions, options: MapOptions = {}): Promise<ExecResult[]> {
    return this.map(
      (child, _index, signal) => child.exec({ ...request, signal: request.signal ? AbortSignal.any([request.signal, signal]) : signal }),
      options,
    );
  }

  /** Deletes the children, side by side. Rejects with a TeardownError if some could not be deleted. */
  close(): Promise<void> {
    this.#closing ??= this.#client.closeAll(this.children);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** What `session.fork` does. */
export async function forkGroup(
  client: Client,
  parent: Session,
  count: number,
  options: ForkOptions & { readonly timeoutSeconds: number },
): Promise<ForkGroup> {
  if (!Number.isInteger(count) || count < 1) throw new ConfigurationError(`a fork has at least one child, not ${count}`);
  if (options.labels && options.labels.length !== count)
    throw new ConfigurationError(`${options.labels.length} labels for ${count} children`);
  const seeds = groupSeeds(count, options.seedMode, options.seed);
  const body = {
    count,
    ...(options.labels ? { labels: [...options.labels] } : {}),
    ...(seeds.some((seed) => seed !== null) ? { seeds } : {}),
  };
  const reply = record(await client.fork(parent.id, body, options.signal));
  const rows = records(reply["children"]).map(readSandbox);
  if (rows.length !== count) {
    await client.deleteAll(rows.map((row) => row.id));
    throw new ForkFailedError(`${count} children were asked for and ${rows.length} came; they were deleted again`);
  }
  const forkTimeMs = number(reply, "fork_time_ms", -1);
  const children = rows.map(
    (row, index) =>
      new Session(client, row, { forkTimeMs, createTimeMs: -1, timeoutSeconds: options.timeoutSeconds, seed: seeds[index] ?? undefined }),
  );
  return new ForkGroup(client, parent, children, {
    seeds,
    groupId: typeof reply["group_id"] === "string" ? reply["group_id"] : "",
    forkTimeMs,
    pauseMs: number(reply, "pause_ms", -1),
  });
}
