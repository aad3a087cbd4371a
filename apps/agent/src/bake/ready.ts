// SPDX-License-Identifier: Apache-2.0
/** Waits until a booted image is ready, under a limit of its own; says why it never became so. */
import { CollimateError, type Ready } from "@collimate/contracts";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { readReadyCommand } from "./ready-command.ts";

const READY_DEFAULT_S = 300;
const HTTP_POLL_MS = 200;
const TAIL_MAX = 4_000;

export async function untilReady(sandbox: Sandbox, ready: Ready): Promise<void> {
  const limitMs = (ready.timeout_s ?? (ready.http_timeout_s || READY_DEFAULT_S)) * 1_000;
  if (ready.http) await untilHttp(sandbox, ready.http, limitMs);
  else if (ready.cmd) await untilCommand(sandbox, ready.cmd, limitMs);
  // Whoever runs code later finds the interpreter there already, if the image has one.
  await sandbox.links.startInterpreter(sandbox.workdir);
}

async function untilCommand(sandbox: Sandbox, command: string, limitMs: number): Promise<void> {
  const parsed = readReadyCommand(command);
  const tail: Buffer[] = [];
  const keep = (chunk: Buffer) => {
    tail.push(chunk);
    while (tail.length > 1 && tail.reduce((sum, part) => sum + part.length, 0) - (tail[0]?.length ?? 0) > TAIL_MAX) tail.shift();
  };
  const run = (how: { code: string } | { shell: string }) =>
    sandbox.links.run(
      { ...how, ...("code" in how ? {} : { cwd: sandbox.workdir, user: sandbox.user }), timeoutMs: limitMs },
      { onStdout: keep, onStderr: keep },
    );
  let result = parsed.kind === "code" ? await run({ code: parsed.code }) : await run({ shell: parsed.command });
  if (parsed.kind === "code" && result.exitCode === 127) {
    tail.length = 0;
    result = await run({ shell: command });
  }
  if (result.exitCode === 0 && !result.timedOut) return;
  const output = Buffer.concat(tail).toString("utf8").slice(-TAIL_MAX).trimEnd();
  const why = result.timedOut ? `did not end within ${limitMs / 1_000} s` : `ended with exit code ${result.exitCode}`;
  throw new CollimateError("bake_failed", `ready command ${why}: ${command.slice(0, 200)}${output ? `\n${output.slice(-1_500)}` : ""}`, {
    detail: output,
  });
}

async function untilHttp(sandbox: Sandbox, url: string, limitMs: number): Promise<void> {
  const target = parseUrl(url);
  const until = performance.now() + limitMs;
  let last = "nothing listens";
  while (performance.now() < until) {
    const answer = await sandbox.links.httpStatus(target.port, target.path).catch((error: unknown) => {
      last = error instanceof Error ? error.message : String(error);
      return 0;
    });
    if (answer >= 200 && answer < 300) return;
    if (answer) last = `it answered ${answer}`;
    await sleep(HTTP_POLL_MS);
  }
  throw new CollimateError("bake_failed", `ready check ${url}: no 2xx within ${limitMs / 1_000} s (${last})`);
}

function parseUrl(url: string): { port: number; path: string } {
  if (!URL.canParse(url)) throw new CollimateError("bake_failed", `ready.http: not a URL: ${url}`);
  const parsed = new URL(url);
  return { port: Number(parsed.port || 80), path: `${parsed.pathname}${parsed.search}` };
}
