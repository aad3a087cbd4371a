// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { templateStatusSchema } from "@collimate/contracts";
import type { TemplateStatus } from "@collimate/contracts";
import { Command } from "commander";
import { z } from "zod";
import type { ApiClient } from "../client/api.ts";
import { connect } from "../client/api.ts";
import { Complaint } from "../complaint.ts";
import { interruptible } from "../interrupt.ts";
import { positive } from "../quickstart/command.ts";
import { step } from "../terminal/progress.ts";
import type { Step } from "../terminal/progress.ts";
import { resolveImage } from "./image.ts";

interface Flags {
  ready?: string;
  width?: number;
  wait: number;
}

const POLL_MS = 500;

export function bakeCommand(): Command {
  return new Command("bake")
    .description("make a template of an OCI image: booted, made ready, checkpointed; prints its id")
    .argument("<name>", "the template's name")
    .argument("<image>", "an OCI reference, best by digest; or a catalog image's name (base, python, pytorch-cpu)")
    .option("--ready <command>", "shell text that warms the image; it must exit with 0")
    .option("--width <n>", "children that forks will ask for", positive)
    .option("--wait <seconds>", "how long to wait until it can be used", positive, 600)
    .action((name: string, image: string, flags: Flags) => interruptible((signal) => bake(name, image, flags, signal)));
}

async function bake(name: string, image: string, flags: Flags, signal: AbortSignal): Promise<void> {
  const api = await connect();
  const reference = await resolveImage(image, signal);
  const body = {
    name,
    image: reference,
    ...(flags.width === undefined ? {} : { pool: { width: flags.width } }),
    ...(flags.ready === undefined ? {} : { ready: { cmd: flags.ready } }),
  };
  const { id } = await api.post("/v1/templates", z.looseObject({ id: z.string() }), { body });
  await step(`bake ${name}`, (progress) => untilLive(api, id, flags.wait * 1_000, progress, signal));
  process.stdout.write(`${id}\n`);
}

async function untilLive(api: ApiClient, id: string, limitMs: number, progress: Step, signal: AbortSignal): Promise<TemplateStatus> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const status = await api.get(`/v1/templates/${id}`, templateStatusSchema, { signal });
    progress.note(status.phase);
    if (status.phase === "Failed") throw new Complaint(`the bake failed: ${status.error}`);
    if (status.converge_state === "converged") return status;
    if (performance.now() > deadline) throw new Complaint(`the template is still ${status.phase} after ${limitMs / 1_000} s`);
    await delay(POLL_MS, undefined, { signal });
  }
}
