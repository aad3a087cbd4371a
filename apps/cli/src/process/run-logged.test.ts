// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { identify } from "@collimate/embedded";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runLogged, runToEnd } from "./run-logged.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "collimate-test-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function shell(script: string, more: Partial<Parameters<typeof runToEnd>[0]> = {}) {
  return {
    name: "the trial",
    argv: ["/bin/sh", "-c", script] as [string, ...string[]],
    cwd: "/",
    log: join(dir, "log"),
    limitMs: 30_000,
    ...more,
  };
}

/** Interrupts a run as soon as it has told the pid of its background child. */
async function interruptedWith(script: string, end: (abort: AbortController) => void): Promise<{ pid: number; ended: Promise<unknown> }> {
  const abort = new AbortController();
  const { promise, resolve } = Promise.withResolvers<number>();
  const ended = runToEnd(shell(script, { signal: abort.signal, onLine: (line) => resolve(Number(line)) })).catch((error: unknown) => error);
  const pid = await promise;
  end(abort);
  return { pid, ended };
}

test("both streams reach the log and the listener", async () => {
  const lines: string[] = [];
  const { code } = await runToEnd(shell("echo one; echo two >&2; exit 4", { onLine: (line, stream) => lines.push(`${stream} ${line}`) }));
  expect(code).toBe(4);
  expect(lines.toSorted()).toEqual(["stderr two", "stdout one"]);
  expect((await readFile(join(dir, "log"), "utf8")).split("\n").toSorted()).toEqual(["", "one", "two"]);
});

test("a failure shows the end of the log", async () => {
  await expect(runLogged(shell("echo the cause; exit 4"))).rejects.toThrow(/the trial failed \(exit code 4\)[^]*the cause/);
});

test("an interrupt ends the program and everything that it started", async () => {
  const { pid, ended } = await interruptedWith("sleep 600 & echo $!; wait", (abort) => abort.abort(new Error("interrupted")));
  expect(await ended).toEqual(new Error("interrupted"));
  await expect.poll(() => identify(pid)).toBeUndefined();
});

test("a program that ends its own is told alone: what it started lives until it has ended", async () => {
  const abort = new AbortController();
  const lines: string[] = [];
  const script = 'sleep 600 > /dev/null 2>&1 & trap "kill -0 $! && echo it lives; exit 0" TERM; echo $!; wait';
  const run = runToEnd(
    shell(script, {
      signal: abort.signal,
      tell: "program",
      onLine: (line) => {
        lines.push(line);
        abort.abort(new Error("interrupted"));
      },
    }),
  );
  await expect(run).rejects.toThrow("interrupted");
  expect(await readFile(join(dir, "log"), "utf8")).toContain("it lives");
  await expect.poll(() => identify(Number(lines[0]))).toBeUndefined();
});

test("what a program leaves in the background ends with it", async () => {
  const lines: string[] = [];
  await runToEnd(shell("sleep 600 > /dev/null 2>&1 & echo $!", { onLine: (line) => lines.push(line) }));
  await expect.poll(() => identify(Number(lines[0]))).toBeUndefined();
});

test("a program over its time is ended and says so", async () => {
  await expect(runLogged(shell("sleep 600", { limitMs: 100 }))).rejects.toThrow(/took longer than 0.1 s/);
});

test("a program that is not there is an error, not a hang", async () => {
  await expect(runToEnd(shell("", { argv: ["/nonexistent"] }))).rejects.toThrow(/ENOENT/);
});
