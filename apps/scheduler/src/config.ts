// SPDX-License-Identifier: Apache-2.0
/** Configuration from the environment; everything that is wrong is told at once. */
import { z } from "zod";

const url = (protocols: readonly string[]) =>
  z
    .string({ error: "is missing" })
    .refine(
      (text) => protocols.includes(URL.parse(text)?.protocol ?? ""),
      `must be a URL that starts with ${protocols.map((p) => `${p}//`).join(" or ")}`,
    );
/** A duration in milliseconds. */
const ms = (fallback: number, min = 1) =>
  z.coerce
    .number({ error: "must be a number of milliseconds" })
    .int()
    .min(min)
    .max(7 * 86_400_000)
    .default(fallback);
const count = (fallback: number, min: number, max: number) =>
  z.coerce.number({ error: "must be a number" }).int().min(min).max(max).default(fallback);

const environmentSchema = z.object({
  DATABASE_URL: url(["postgres:", "postgresql:"]),
  REDIS_URL: url(["redis:", "rediss:", "unix:"]),
  QUEUE_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,40}$/, "may have letters, digits, _ and -")
    .default("collimate"),
  SCHEDULER_HOST: z.string().min(1).default("127.0.0.1"),
  SCHEDULER_PORT: count(9470, 0, 65_535),
  SCHEDULER_DB_POOL: count(16, 4, 200),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal"]).default("info"),
  /** A node is given work while its last heartbeat is younger than this. */
  SCHEDULER_NODE_FRESH_MS: ms(15_000),
  /** A node without a heartbeat for so long is lost, and what lived on it with it. */
  SCHEDULER_NODE_LOST_MS: ms(60_000),
  /** Memory of every node that placement leaves free; never less than a twentieth of it. */
  SCHEDULER_RESERVE_MIB: count(256, 0, 1_048_576),
  /** Expected private memory of a new sandbox, besides what its snapshot is known to need. */
  SCHEDULER_CHILD_MIB: count(32, 1, 1_048_576),
  /** Expected memory of a bake, unless the template's limit is lower. */
  SCHEDULER_BAKE_MIB: count(1_024, 1, 1_048_576),
  /** An operation that has waited this long keeps room for itself: later ones do not take it. */
  SCHEDULER_STARVING_MS: ms(20_000),
  /** A running sandbox without an exec for so long is deleted. */
  SCHEDULER_IDLE_MS: ms(30 * 60_000),
  /** How long a failed sandbox can still be looked at. */
  SCHEDULER_FAILED_KEPT_MS: ms(60 * 60_000),
  /** How long the record of an ended operation is kept. */
  SCHEDULER_OPERATIONS_KEPT_MS: ms(7 * 86_400_000),
  /** Deadline of an operation that has none of its own. */
  SCHEDULER_OPERATION_MS: ms(60 * 60_000),
  SCHEDULER_SWEEP_MS: ms(5_000),
});

export interface Config {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly queuePrefix: string;
  readonly host: string;
  readonly port: number;
  readonly dbPool: number;
  readonly logLevel: string;
  readonly policy: Policy;
}

/** What placement and reaping decide by. Durations in ms, memory in MiB. */
export interface Policy {
  readonly nodeFreshMs: number;
  readonly nodeLostMs: number;
  readonly reserveMib: number;
  readonly childMib: number;
  readonly bakeMib: number;
  readonly starvingMs: number;
  readonly idleMs: number;
  readonly failedKeptMs: number;
  readonly operationsKeptMs: number;
  readonly operationMs: number;
  readonly sweepMs: number;
}

export class ConfigError extends Error {}

export function readConfig(environment: Record<string, string | undefined>): Config {
  const parsed = environmentSchema.safeParse(withoutEmpty(environment));
  if (!parsed.success) {
    throw new ConfigError(
      `the environment is not right:\n${parsed.error.issues.map((issue) => `  ${issue.path.join(".")} ${issue.message}`).join("\n")}`,
    );
  }
  const e = parsed.data;
  return {
    databaseUrl: e.DATABASE_URL,
    redisUrl: e.REDIS_URL,
    queuePrefix: e.QUEUE_PREFIX,
    host: e.SCHEDULER_HOST,
    port: e.SCHEDULER_PORT,
    dbPool: e.SCHEDULER_DB_POOL,
    logLevel: e.LOG_LEVEL,
    policy: {
      nodeFreshMs: e.SCHEDULER_NODE_FRESH_MS,
      nodeLostMs: e.SCHEDULER_NODE_LOST_MS,
      reserveMib: e.SCHEDULER_RESERVE_MIB,
      childMib: e.SCHEDULER_CHILD_MIB,
      bakeMib: e.SCHEDULER_BAKE_MIB,
      starvingMs: e.SCHEDULER_STARVING_MS,
      idleMs: e.SCHEDULER_IDLE_MS,
      failedKeptMs: e.SCHEDULER_FAILED_KEPT_MS,
      operationsKeptMs: e.SCHEDULER_OPERATIONS_KEPT_MS,
      operationMs: e.SCHEDULER_OPERATION_MS,
      sweepMs: e.SCHEDULER_SWEEP_MS,
    },
  };
}

/** An empty variable is one that is not set. */
function withoutEmpty(environment: Record<string, string | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
}
