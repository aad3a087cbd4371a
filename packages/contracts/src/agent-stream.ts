// SPDX-License-Identifier: Apache-2.0
/**
 * The agent's exec surface: what the api sends to a node to run something, and the stream that comes back.
 *
 *     POST {node.url}/internal/sandboxes/{sandbox id}/exec
 *     Authorization: Bearer <JWT, HS256 with AGENT_SECRET, claims execTokenSchema, lives 60 s>
 *     Content-Type: application/json        body: ExecRequest, `timeout_seconds` always set
 *
 * 200: `application/x-ndjson`, one `agentLineSchema` a line. Headers are sent at once, before the first output.
 * The stream ends with exactly one `x` (the command ran, whatever its exit code) or `err` (it did not, or the agent cannot tell).
 * A stream that ends without either is a broken one. Any other status: JSON, `agentRefusalSchema`; nothing was run.
 */
import { z } from "zod";
import { failureSchema } from "./errors.ts";
import { seedAckSchema } from "./exec.ts";

export const AGENT_STREAM_TYPE = "application/x-ndjson";
/** The agent sends a `k` line after this much silence, so that a dead node is told from a quiet command. */
export const AGENT_KEEPALIVE_MS = 10_000;
/** Silence after which the api takes the stream for broken. */
export const AGENT_SILENCE_MAX_MS = 45_000;
/** Raw output bytes in one line at most (before base64). */
export const AGENT_CHUNK_MAX = 256 * 1024;
/** Longest line: a chunk in base64, or a failure with its detail. */
export const AGENT_LINE_MAX = 512 * 1024;

const base64 = z.string().max(Math.ceil(AGENT_CHUNK_MAX / 3) * 4);
const bytes = z.int().nonnegative();

/**
 * One argv list of `commands` that was started, in order. The bytes are those sent in `o` and `e` lines for it, so that
 * the streams can be cut into parts: the parts follow one another without gaps.
 */
export const agentPartSchema = z.object({ exit_code: z.int(), stdout_bytes: bytes, stderr_bytes: bytes });

/** How it ended. */
export const agentExitSchema = z.object({
  t: z.literal("x"),
  /** -1 after the time limit; 128 + signal when a signal ended it. */
  exit_code: z.int(),
  exec_time_ms: z.number().nonnegative(),
  timed_out: z.boolean(),
  oom_killed: z.boolean(),
  /** Signal that ended it, 0 if none. */
  signal: z.int().nonnegative(),
  /** Output over EXEC_OUTPUT_MAX on a stream was dropped by the agent. */
  truncated: z.boolean(),
  /** The seed really used: the one asked for, or a fresh one. 64 hex digits. */
  seed: z.string(),
  seed_ack: seedAckSchema,
  /** Only for `commands`: the argv lists that were started, up to and including the first that failed. */
  parts: z.array(agentPartSchema).max(256).optional(),
});
export type AgentExit = z.infer<typeof agentExitSchema>;

export const agentLineSchema = z.discriminatedUnion("t", [
  /** stdout */
  z.object({ t: z.literal("o"), d: base64 }),
  /** stderr */
  z.object({ t: z.literal("e"), d: base64 }),
  /** keep-alive */
  z.object({ t: z.literal("k") }),
  agentExitSchema,
  z.object({ t: z.literal("err"), failure: failureSchema }),
]);
export type AgentLine = z.infer<typeof agentLineSchema>;

/** Body of every answer that is not 200. `not_found`: no such sandbox on this node. */
export const agentRefusalSchema = z.object({ failure: failureSchema });
export type AgentRefusal = z.infer<typeof agentRefusalSchema>;
