// SPDX-License-Identifier: Apache-2.0
import type { ExecReply } from "@collimate/contracts";
import { Command } from "commander";
import { connect } from "../client/api.ts";
import { DEFAULT_TIMEOUT, programOf, timeoutSeconds } from "../client/program-options.ts";
import type { ProgramFlags } from "../client/program-options.ts";
import { RemoteSandbox } from "../client/sandbox.ts";
import { interruptible } from "../interrupt.ts";
import { say } from "../terminal/progress.ts";

export function execCommand(): Command {
  return new Command("exec")
    .description("run a program in a fresh sandbox and delete the sandbox; ends with the program's exit code")
    .argument("<template>", "its name or id")
    .argument("[program...]", "after --: a program and its arguments")
    .option("--code <text>", "instead of a program: text for the template's interpreter")
    .option("--timeout <seconds>", "ends the program after this long", timeoutSeconds, DEFAULT_TIMEOUT)
    .action(async (template: string, words: string[], flags: ProgramFlags) => {
      const request = programOf(words, flags);
      const reply = await interruptible(async (signal) => {
        await using sandbox = await RemoteSandbox.create(await connect(), template);
        signal.throwIfAborted();
        return await sandbox.exec(request, signal);
      });
      show(reply);
    });
}

function show(reply: ExecReply): void {
  process.stdout.write(reply.stdout);
  process.stderr.write(reply.stderr);
  if (reply.truncated) say("(the output was longer than 16 MiB and was cut)");
  if (reply.timed_out) say("(ended because its time was up)");
  if (reply.oom_killed) say("(ended by the kernel because the sandbox's memory was full)");
  // A shell's words: 124 is timeout(1)'s.
  process.exitCode = reply.timed_out ? 124 : reply.exit_code & 0xff;
}
