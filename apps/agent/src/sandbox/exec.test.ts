// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { RunEnd } from "../guest/links.ts";
import { execInSandbox } from "./exec.ts";
import type { Sandbox } from "./sandbox.ts";

const SINK = { stdout: () => {}, stderr: () => {} };
const END: RunEnd = { exitCode: 0, signal: 0, timedOut: false, killedFromOutside: false, seedAck: "off" };

/** As much of a sandbox as an exec touches, with commands that end when they are told to. */
function sandboxWith(run: () => Promise<RunEnd>) {
  const part = { execCount: 0, execsRunning: 0, lastActiveAt: 0, workdir: "/", user: "root", links: { run } };
  return part as unknown as Sandbox;
}

test("an exec counts as running until its command has ended, next to others", async () => {
  const ends = [Promise.withResolvers<RunEnd>(), Promise.withResolvers<RunEnd>()];
  const waiting = [...ends];
  const sandbox = sandboxWith(() => waiting.shift()?.promise ?? Promise.reject(new Error("not asked for")));
  const execs = ends.map(() => execInSandbox(sandbox, { command: "sleep" }, SINK, new AbortController().signal));
  expect([sandbox.execsRunning, sandbox.execCount]).toEqual([2, 2]);
  ends[0]?.resolve(END);
  await execs[0];
  expect(sandbox.execsRunning).toBe(1);
  ends[1]?.resolve(END);
  await execs[1];
  expect([sandbox.execsRunning, sandbox.execCount]).toEqual([0, 2]);
});

test("an exec that fails runs no more", async () => {
  const sandbox = sandboxWith(() => Promise.reject(new Error("the sandbox has ended")));
  await expect(execInSandbox(sandbox, { command: "true" }, SINK, new AbortController().signal)).rejects.toThrow("has ended");
  expect([sandbox.execsRunning, sandbox.execCount]).toEqual([0, 1]);
});
