// SPDX-License-Identifier: Apache-2.0
import { Command } from "commander";
import { connect } from "../client/api.ts";
import { DEFAULT_TIMEOUT, programOf, timeoutSeconds } from "../client/program-options.ts";
import type { ProgramFlags } from "../client/program-options.ts";
import { RemoteSandbox } from "../client/sandbox.ts";
import { Complaint } from "../complaint.ts";
import { interruptible } from "../interrupt.ts";
import { positive } from "../quickstart/command.ts";
import { printable, say, step } from "../terminal/progress.ts";
import { duration } from "../terminal/quantity.ts";
import { table } from "../terminal/table.ts";

interface Flags extends ProgramFlags {
  width: number;
  prefix?: string;
}

interface ChildResult {
  id: string;
  exitCode: number;
  firstLine: string;
  ms: number;
}

export function forkCommand(): Command {
  return new Command("fork")
    .description("fork a fresh sandbox N times and run a program in each child; exit code 1 when one of them failed")
    .argument("<template>", "its name or id")
    .argument("[program...]", "after --: a program and its arguments")
    .option("--width <n>", "children", positive, 4)
    .option("--prefix <text>", "interpreter text that runs once, in the parent, before the fork")
    .option("--code <text>", "instead of a program: text for each child's interpreter")
    .option("--timeout <seconds>", "ends a program after this long", timeoutSeconds, DEFAULT_TIMEOUT)
    .action((template: string, words: string[], flags: Flags) => interruptible((signal) => fork(template, words, flags, signal)));
}

async function fork(template: string, words: readonly string[], flags: Flags, signal: AbortSignal): Promise<void> {
  const request = programOf(words, flags);
  await using parent = await step("sandbox", async () => RemoteSandbox.create(await connect(), template));
  const { prefix } = flags;
  if (prefix !== undefined) {
    const ran = await step("prefix", () => parent.exec({ code: prefix, timeout_seconds: flags.timeout }, signal));
    if (ran.exit_code !== 0) throw new Complaint(`the prefix ended with exit code ${ran.exit_code}\n${ran.stderr}`);
  }
  signal.throwIfAborted();
  const { reply, children } = await step(`fork into ${flags.width}`, () => parent.fork(flags.width));
  await using group = groupOf(children);
  const results = await step("run in each", () =>
    Promise.all(
      group.children.map(async (child): Promise<ChildResult> => {
        const began = performance.now();
        const ran = await child.exec(request, signal);
        return {
          id: child.id,
          exitCode: ran.exit_code,
          firstLine: printable((ran.stdout || ran.stderr).split("\n", 1)[0] ?? ""),
          ms: performance.now() - began,
        };
      }),
    ),
  );
  const rows = results.map((result, i) => [String(i), result.id, String(result.exitCode), duration(result.ms), result.firstLine]);
  process.stdout.write(
    `${table([{ title: "#", align: "right" }, { title: "child" }, { title: "exit", align: "right" }, { title: "time", align: "right" }, { title: "first line" }], rows)}\n`,
  );
  say(`forked in ${duration(reply.fork_time_ms)}, the parent paused for ${duration(reply.pause_ms)}`);
  if (results.some((result) => result.exitCode !== 0)) process.exitCode = 1;
}

/** Deletes all children at the end, all at once; the first failure is told after all were tried. */
function groupOf(children: readonly RemoteSandbox[]): { children: readonly RemoteSandbox[] } & AsyncDisposable {
  return {
    children,
    async [Symbol.asyncDispose]() {
      const results = await Promise.allSettled(children.map((child) => child[Symbol.asyncDispose]()));
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
}
