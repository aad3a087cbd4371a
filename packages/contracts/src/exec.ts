// SPDX-License-Identifier: Apache-2.0
/** Running things in a sandbox (wire contract, section 5). */
import { z } from "zod";
import { seedSchema } from "./sandbox.ts";
import { envSchema } from "./template.ts";

/** Longest argument that the kernel takes is 128 KiB (MAX_ARG_STRLEN); `code` and `files` do not travel as arguments. */
const ARGUMENT_MAX = 131_071;
export const EXEC_TIMEOUT_DEFAULT_S = 30;
export const EXEC_TIMEOUT_MAX_S = 3_600;
/** Output kept per stream of one exec; a client's download of 11 MiB needs 15,379,300 bytes (wire contract, section 5). */
export const EXEC_OUTPUT_MAX = 16 * 1024 * 1024;
/** Largest request body that every surface takes. */
export const BODY_MAX = 32 * 1024 * 1024;

const argument = z.string().max(ARGUMENT_MAX, "longer than an argument may be (128 KiB)");

export const execRequestSchema = z
  .object({
    command: argument.optional(),
    code: z.string().max(BODY_MAX).optional(),
    commands: z.array(z.array(argument).min(1).max(4_096)).min(1).max(256).optional(),
    files: z
      .array(z.object({ path: z.string().min(1).max(4_096), content: z.string() }))
      .max(1_024)
      .optional(),
    timeout_seconds: z.number().min(0).max(EXEC_TIMEOUT_MAX_S).optional(),
    seed: seedSchema.optional(),
    cwd: z.string().max(4_096).optional(),
    env: envSchema.optional(),
    user: z.string().max(64).optional(),
    stdin: z.string().optional(),
  })
  .refine((b) => b.command !== undefined || b.code !== undefined || b.commands !== undefined || (b.files?.length ?? 0) > 0, {
    message: "give one of command, commands, code or files",
    path: ["command"],
  });
export type ExecRequest = z.infer<typeof execRequestSchema>;

export const seedAckSchema = z.enum(["verified", "partial", "off", "no-ack"]);
const one = z.object({ stdout: z.string(), stderr: z.string(), exit_code: z.int() });

/** No field is ever null: published clients fail on null. */
export const execReplySchema = one.extend({
  id: z.string(),
  fork_time_ms: z.number(),
  exec_time_ms: z.number(),
  total_time_ms: z.number(),
  seed: z.string(),
  seed_ack: seedAckSchema,
  timed_out: z.boolean(),
  oom_killed: z.boolean(),
  signal: z.int(),
  truncated: z.boolean(),
  results: z.array(one).optional(),
});
export type ExecReply = z.infer<typeof execReplySchema>;

/** Daemon one-shot exec: POST /v1/exec. */
export const oneShotSchema = z.object({ template_id: z.string().min(1).max(1_024) });

/** What the api signs for the agent (HS256 JWT, seconds to live): which sandbox of which tenant may be spoken to. */
export const execTokenSchema = z.object({ sub: z.string(), tenant: z.string(), op: z.enum(["exec", "files", "tunnel"]) });
export type ExecToken = z.infer<typeof execTokenSchema>;
