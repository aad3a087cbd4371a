// SPDX-License-Identifier: Apache-2.0
import { Argument, Command, Option } from "commander";
import { Complaint } from "../complaint.ts";
import { interruptible } from "../interrupt.ts";
import { requireRoot } from "../platform/root.ts";
import { positive } from "../quickstart/command.ts";
import { statePaths } from "../state/paths.ts";
import { benchEngine, ENGINE_BENCHES } from "./engine.ts";
import type { BenchFlags } from "./program.ts";
import { benchQuickstart } from "./quickstart.ts";
import { benchForkAtSdk } from "./sdk.ts";
import { benchTruth } from "./truth.ts";

export function benchCommand(): Command {
  return new Command("bench")
    .description("measure the engine on this machine; the last line is one JSON object")
    .addArgument(new Argument("<bench>", "what to measure").choices([...ENGINE_BENCHES, "quickstart", "truth"]))
    .addOption(
      new Option("--subject <name>", "what is forked: Python with this library and 200 MB touched")
        .choices(["numpy", "torch"])
        .default("numpy"),
    )
    .addOption(
      new Option("--through <what>", "fork: the engine alone, or a whole platform, from the call at the Python SDK")
        .choices(["engine", "sdk"])
        .default("engine"),
    )
    .option("--width <n>", "children of a fork", positive, 64)
    .option("--runs <n>", "runs; fewer than 5 are not to be quoted", positive, 5)
    .option("--depth <n>", "chain: forks in a row, and generations", positive, 20)
    .option("--forks <n>", "truth: forks of each program whose memory is checked", positive, 1_000)
    .option("--image <ref>", "an OCI image by digest in place of the catalog's")
    .option("--json", "nothing but the JSON object on standard output")
    .action(async (bench: string, flags: BenchFlags) => {
      requireRoot("bench");
      if (flags.through === "sdk" && bench !== "fork") throw new Complaint(`--through sdk is for the benchmark "fork", not "${bench}"`);
      const tools = process.env["COLLIMATE_TOOLS"] ?? "/var/cache/collimate";
      const ok = await interruptible((signal) => {
        if (bench === "quickstart") return benchQuickstart(statePaths(), tools, flags, signal);
        if (flags.through === "sdk") return benchForkAtSdk(statePaths(), tools, flags, signal);
        if (bench === "truth") return benchTruth(tools, flags, signal);
        return benchEngine(bench, statePaths(), tools, flags, signal);
      });
      if (!ok) process.exitCode = 1;
    });
}
