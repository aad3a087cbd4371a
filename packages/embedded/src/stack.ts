// SPDX-License-Identifier: Apache-2.0
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "./postgres/postgres.ts";
import type { Postgres } from "./postgres/postgres.ts";
import { startRedis } from "./redis/redis.ts";
import { startRegistry } from "./registry/registry.ts";
import type { Registry } from "./registry/registry.ts";
import type { Service } from "./service.ts";

export type Part = "postgres" | "redis" | "registry";

/** Fresh services for one test suite. `await using` (or stop()) ends them and removes their files. */
export interface Stack<P extends Part> extends AsyncDisposable {
  readonly dir: string;
  readonly postgres: "postgres" extends P ? Postgres : undefined;
  readonly redis: "redis" extends P ? Service : undefined;
  readonly registry: "registry" extends P ? Registry : undefined;
  stop(): Promise<void>;
}

interface Started {
  postgres?: Postgres;
  redis?: Service;
  registry?: Registry;
}

/**
 * Starts new, empty services below a temporary directory: all three, or only the named ones.
 *
 *     await using stack = await startStack("postgres", "redis");
 *     openDatabase(stack.postgres.url);
 */
export async function startStack<P extends Part = Part>(...parts: P[]): Promise<Stack<P>> {
  const wanted = new Set<Part>(parts.length === 0 ? ["postgres", "redis", "registry"] : parts);
  const dir = await mkdtemp(join(tmpdir(), "collimate-stack-"));
  await chmod(dir, 0o711); // the services' account must pass through
  const started: Started = {};
  const begin = async <S extends Service>(part: Part, start: () => Promise<S>, keep: (service: S) => void): Promise<void> => {
    if (wanted.has(part)) keep(await start());
  };
  const results = await Promise.allSettled([
    begin(
      "postgres",
      () => startPostgres({ dir: join(dir, "postgres"), durable: false }),
      (it) => (started.postgres = it),
    ),
    begin(
      "redis",
      () => startRedis({ dir: join(dir, "redis") }),
      (it) => (started.redis = it),
    ),
    begin(
      "registry",
      () => startRegistry({ dir: join(dir, "registry") }),
      (it) => (started.registry = it),
    ),
  ]);
  const stop = once(() => tearDown(dir, started));
  const failure = results.find((result) => result.status === "rejected");
  if (failure !== undefined) {
    await stop();
    throw failure.reason;
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the border where "was asked for, so it is there" becomes a type
  return { dir, ...started, stop, [Symbol.asyncDispose]: stop } as unknown as Stack<P>;
}

async function tearDown(dir: string, started: Started): Promise<void> {
  const services = [started.registry, started.redis, started.postgres].filter((service) => service !== undefined);
  const results = await Promise.allSettled(services.map((service) => service.stop()));
  await rm(dir, { recursive: true, force: true });
  const failure = results.find((result) => result.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= work());
}
