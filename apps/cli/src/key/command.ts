// SPDX-License-Identifier: Apache-2.0
import { Command } from "commander";
import { z } from "zod";
import { administration } from "../tenant/administration.ts";

/** A tRPC mutation's reply. */
const replySchema = z.object({ result: z.object({ data: z.looseObject({ apiKey: z.string() }) }) });

export function keyCommand(): Command {
  const create = new Command("create")
    .description('make one more API key of a tenant; prints {"apiKey"}')
    .argument("<tenant>", "the tenant's id")
    .option("--name <name>", "for people", "")
    .option("--expires <time>", "RFC 3339; default: never")
    .action(async (tenantId: string, flags: { name: string; expires?: string }) => {
      const body = { tenantId, name: flags.name, ...(flags.expires === undefined ? {} : { expiresAt: flags.expires }) };
      const reply = await (await administration()).post("/trpc/admin.createKey", replySchema, { body });
      process.stdout.write(`${JSON.stringify({ apiKey: reply.result.data.apiKey })}\n`);
    });
  return new Command("key").description("API keys of this machine's platform").addCommand(create);
}
