// SPDX-License-Identifier: Apache-2.0
/**
 * One benchmark: node bench/main.ts fork|create|exec|suspend|chain --image REF --state DIR --tools DIR. As root, in a mount
 * namespace of its own; `collimate bench` does all that. The last line of standard output is one JSON object.
 */
import { cpus, loadavg, release } from "node:os";
import { benchChain } from "./chain/bench.ts";
import { benchCreate } from "./create/bench.ts";
import { Laboratory } from "./engine/laboratory.ts";
import { benchExec } from "./exec/bench.ts";
import { benchFork } from "./fork/bench.ts";
import { benchForkAtSdk } from "./sdk/bench.ts";
import { readOptions } from "./options.ts";
import { judge, lastLine, type Measured, render } from "./report/result.ts";
import { subjectOf } from "./subject.ts";
import { benchSuspend } from "./suspend/bench.ts";

const BENCHES = { fork: benchFork, create: benchCreate, exec: benchExec, suspend: benchSuspend, chain: benchChain };

const options = readOptions(process.argv.slice(2));
const tell = (line: string): void => void process.stderr.write(`${line}\n`);
const machine = { cpus: cpus().length, kernel: release(), load: loadavg()[0] ?? 0 };
const interruption = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => interruption.abort(new Error(`interrupted (${name})`)));
tell(`baking the subject: ${options.subject}`);
const result = judge(await measure(), machine);
process.stdout.write(`${render(result)}\n${lastLine(result)}\n`);
if (!result.ok) process.exitCode = 1;

async function measure(): Promise<Measured> {
  if (options.bench === "fork" && options.through === "sdk") return benchForkAtSdk(options, interruption.signal, tell);
  await using laboratory = await Laboratory.open({
    subject: subjectOf(options.subject),
    image: options.image,
    insecureRegistries: options["insecure-registry"],
    state: options.state,
    tools: options.tools,
    width: options.width,
    signal: interruption.signal,
  });
  return await BENCHES[options.bench](laboratory, options, tell);
}
