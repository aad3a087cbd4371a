// SPDX-License-Identifier: Apache-2.0
import { readRecord } from "@collimate/embedded";
import { Command } from "commander";
import { PARTS } from "../platform/parts.ts";
import { servedBy } from "../platform/probe.ts";
import { readEndpoints } from "../state/endpoints.ts";
import { logPath, recordPath, statePaths } from "../state/paths.ts";
import type { StatePaths } from "../state/paths.ts";
import { table } from "../terminal/table.ts";

export interface PartStatus {
  name: string;
  state: "serving" | "not answering" | "stopped";
  pid: number | null;
  port: number | null;
  log: string;
}

export function statusCommand(): Command {
  return new Command("status")
    .description("what runs, with pids, ports and logs; exit code 3 when not all of it serves")
    .option("--json", "as one JSON document")
    .action(async (flags: { json?: boolean }) => {
      const parts = await status(statePaths());
      if (flags.json === true) process.stdout.write(`${JSON.stringify({ parts })}\n`);
      else {
        const rows = parts.map((part) => [part.name, part.state, String(part.pid ?? ""), String(part.port ?? ""), part.log]);
        const columns = [
          { title: "part" },
          { title: "state" },
          { title: "pid", align: "right" as const },
          { title: "port", align: "right" as const },
          { title: "log" },
        ];
        process.stdout.write(`${table(columns, rows)}\n`);
      }
      if (parts.some((part) => part.state !== "serving")) process.exitCode = 3;
    });
}

export async function status(paths: StatePaths): Promise<PartStatus[]> {
  const endpoints = await readEndpoints(paths);
  return Promise.all(
    PARTS.map(async (part): Promise<PartStatus> => {
      const identity = await readRecord(recordPath(paths, part.name));
      const endpoint = endpoints[part.name];
      const log = logPath(paths, part.name);
      if (identity === undefined || endpoint === undefined) return { name: part.name, state: "stopped", pid: null, port: null, log };
      const serves = await servedBy(identity, part, endpoint);
      return { name: part.name, state: serves ? "serving" : "not answering", pid: identity.pid, port: endpoint.port, log };
    }),
  );
}
