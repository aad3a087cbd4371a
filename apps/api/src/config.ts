// SPDX-License-Identifier: Apache-2.0
/** The environment, parsed once. Every mistake is named in one go. */
import { z } from "zod";

const port = z.coerce.number().int().min(0).max(65_535);
const seconds = (fallback: number, max: number) => z.coerce.number().min(0).max(max).default(fallback);

const environmentSchema = z.object({
  DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, "a postgresql:// address"),
  REDIS_URL: z.string().regex(/^(rediss?|unix):\/\//, "a redis:// or rediss:// address"),
  /** Before every key in Redis; the same for api, scheduler and agents. */
  QUEUE_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,40}$/, "letters, digits, _ and -")
    .default("collimate"),
  AGENT_SECRET: z.string().min(32, "at least 32 characters"),
  ADMIN_TOKEN: z.string().min(32, "at least 32 characters"),
  API_HOST: z.string().min(1).default("127.0.0.1"),
  API_PORT: port.default(8080),
  LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
  /** Published clients give up after 120 s without a byte (wire contract, section 4). */
  API_HOLD_SECONDS: seconds(110, 115),
  /** How long a stopping server lets running requests end. */
  API_DRAIN_SECONDS: seconds(10, 600),
  /** An exec that takes longer gets its headers early, then a blank now and then (wire contract, section 1). */
  API_EARLY_REPLY_SECONDS: seconds(10, 60),
  API_BLANK_SECONDS: seconds(5, 60),
  /** Output of running execs held in memory; over it new execs are refused as `at_capacity`. */
  API_EXEC_BUFFER_MIB: z.coerce.number().int().min(64).max(1_048_576).default(1_024),
  /** Millionths of the currency unit for one vCPU or one GiB of memory during one second. */
  RATE_VCPU_SECOND_MICROS: z.coerce.number().int().min(0).max(1_000_000_000).default(0),
  RATE_GIB_SECOND_MICROS: z.coerce.number().int().min(0).max(1_000_000_000).default(0),
});

export interface ApiConfig {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly queuePrefix: string;
  readonly agentSecret: string;
  readonly adminToken: string;
  readonly host: string;
  readonly port: number;
  readonly logLevel: string;
  readonly holdMs: number;
  readonly drainMs: number;
  readonly earlyReplyMs: number;
  readonly blankMs: number;
  readonly execBufferBytes: number;
  readonly rates: Rates;
}

export interface Rates {
  readonly vcpuSecondMicros: number;
  readonly gibSecondMicros: number;
}

/** Throws an Error whose message has one line for each variable that is missing or wrong; values are not repeated. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): ApiConfig {
  const parsed = environmentSchema.safeParse(environment);
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => {
      const name = issue.path.join(".");
      return `  ${name}: ${environment[name] === undefined ? "is not set" : issue.message}`;
    });
    throw new Error(`the environment of the api is not complete:\n${lines.join("\n")}`);
  }
  const e = parsed.data;
  return {
    databaseUrl: e.DATABASE_URL,
    redisUrl: e.REDIS_URL,
    queuePrefix: e.QUEUE_PREFIX,
    agentSecret: e.AGENT_SECRET,
    adminToken: e.ADMIN_TOKEN,
    host: e.API_HOST,
    port: e.API_PORT,
    logLevel: e.LOG_LEVEL,
    holdMs: e.API_HOLD_SECONDS * 1_000,
    drainMs: e.API_DRAIN_SECONDS * 1_000,
    earlyReplyMs: e.API_EARLY_REPLY_SECONDS * 1_000,
    blankMs: e.API_BLANK_SECONDS * 1_000,
    execBufferBytes: e.API_EXEC_BUFFER_MIB * 1_048_576,
    rates: { vcpuSecondMicros: e.RATE_VCPU_SECOND_MICROS, gibSecondMicros: e.RATE_GIB_SECOND_MICROS },
  };
}
