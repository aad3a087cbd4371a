// SPDX-License-Identifier: Apache-2.0
/** What tests ask of the engine's process: one JSON request, one JSON answer, over HTTP on a unix socket. */
import { execRequestSchema } from "@collimate/contracts";
import { z } from "zod";
import { IMAGES } from "./images.ts";

export const askSchema = z.discriminatedUnion("verb", [
  z.object({ verb: z.literal("create"), image: z.enum(IMAGES), ready: z.string(), network: z.boolean() }),
  z.object({ verb: z.literal("fork"), id: z.string(), count: z.number().int().min(1).max(64) }),
  z.object({ verb: z.literal("exec"), id: z.string(), request: execRequestSchema }),
  z.object({ verb: z.literal("suspend-and-resume"), id: z.string() }),
  z.object({ verb: z.literal("port"), id: z.string(), port: z.number().int(), say: z.string() }),
  z.object({ verb: z.literal("maps"), id: z.string() }),
  z.object({ verb: z.literal("delete"), ids: z.array(z.string()) }),
]);
export type Ask = z.infer<typeof askSchema>;

export const answerSchema = z.object({
  ids: z.array(z.string()).default([]),
  exitCode: z.number().default(0),
  stdout: z.string().default(""),
  stderr: z.string().default(""),
  pauseMs: z.number().default(0),
  maps: z.array(z.object({ pid: z.number(), text: z.string() })).default([]),
});
export type Answer = z.infer<typeof answerSchema>;

declare module "vitest" {
  interface ProvidedContext {
    engineSocket: string;
    enginePid: number;
    outsidePid: number;
  }
}
