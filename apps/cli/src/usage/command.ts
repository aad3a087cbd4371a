// SPDX-License-Identifier: Apache-2.0
import { usageReplySchema } from "@collimate/contracts";
import { Command } from "commander";
import { connect } from "../client/api.ts";
import { table } from "../terminal/table.ts";

interface Flags {
  from?: string;
  to?: string;
  json?: boolean;
}

export function usageCommand(): Command {
  return new Command("usage")
    .description("what the tenant used: live time only")
    .option("--from <time>", "RFC 3339; default: 30 days ago")
    .option("--to <time>", "RFC 3339; default: now")
    .option("--json", "as one JSON document")
    .action(async (flags: Flags) => {
      const query = new URLSearchParams();
      if (flags.from !== undefined) query.set("from", flags.from);
      if (flags.to !== undefined) query.set("to", flags.to);
      const reply = await (await connect()).get(`/v1/usage?${query.toString()}`, usageReplySchema);
      if (flags.json === true) {
        process.stdout.write(`${JSON.stringify(reply)}\n`);
        return;
      }
      const { totals } = reply;
      const rows = [
        ["sandboxes", String(totals.sandboxes)],
        ["live seconds", totals.live_seconds.toFixed(3)],
        ["vCPU seconds", totals.vcpu_seconds.toFixed(3)],
        ["GiB seconds", totals.memory_gib_seconds.toFixed(3)],
        ["cost", (totals.cost_micros / 1_000_000).toFixed(6)],
      ];
      process.stdout.write(`${reply.from} – ${reply.to}\n\n${table([{ title: "what" }, { title: "amount", align: "right" }], rows)}\n`);
    });
}
