// SPDX-License-Identifier: Apache-2.0
import { tierSchema } from "@collimate/contracts";
import { Command, Option } from "commander";
import { z } from "zod";
import { administration } from "./administration.ts";

const madeSchema = z.object({ tenantId: z.string(), apiKey: z.string() });

export function tenantCommand(): Command {
  const create = new Command("create")
    .description('make a tenant with a first key; prints {"tenantId", "apiKey"}')
    .argument("<name>", "for people")
    .addOption(new Option("--tier <tier>", "what it may do").choices(tierSchema.options).default("pro"))
    .action(async (name: string, flags: { tier: string }) => {
      const made = await (await administration()).post("/internal/tenants", madeSchema, { body: { name, tier: flags.tier } });
      process.stdout.write(`${JSON.stringify(made)}\n`);
    });
  return new Command("tenant").description("tenants of this machine's platform").addCommand(create);
}
