// SPDX-License-Identifier: Apache-2.0
/**
 * One truth: a program builds some state inside a sandbox and stops at its checkpoint; the sandbox is forked; then the
 * program goes on everywhere and checks what it had. programs/truth.py is the side inside.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { Sandbox } from "./engine/sandbox.ts";

const CHILDREN = 4;
const INSIDE = "/tmp/truth";

export interface Scenario {
  /** A file of programs/. */
  readonly program: string;
  readonly args?: string;
  /** Before the program's name: variables, another program. */
  readonly before?: string;
  /** The first child is forked too, and its children are checked instead of it. Default true. */
  readonly grandchildren?: boolean;
  /** The sandbox has a way to the outside. Default false. */
  readonly network?: boolean;
}

async function source(name: string): Promise<{ path: string; content: string }> {
  return { path: `${INSIDE}/${name}`, content: await readFile(join(import.meta.dirname, "programs", name), "utf8") };
}

/** A sandbox in which the program stands at its checkpoint. */
export async function startProgram(sandbox: Sandbox, { program, args = "", before = "" }: Scenario): Promise<void> {
  const compile = program.endsWith(".c") ? `gcc -O1 -pthread -o ${INSIDE}/program ${INSIDE}/${program} && ` : "";
  const run = program.endsWith(".c") ? `${INSIDE}/program` : `python3 ${INSIDE}/${program}`;
  await sandbox.exec({ files: [await source("truth.py"), await source("truth.h"), await source(program)] });
  const started = await sandbox.exec({
    command: `cd ${INSIDE} && ${compile}{ env ${before} ${run} ${args} >log 2>&1 </dev/null & } && python3 truth.py await-checkpoint`,
    timeout_seconds: 45,
  });
  expect(started.exitCode, started.stderr + started.stdout).toBe(0);
}

/** What the program finds when it goes on in this sandbox: "ok", or what it complains of. */
export async function verdictOf(sandbox: Sandbox, name: string): Promise<string> {
  const { stdout, stderr } = await sandbox.exec({ command: `python3 ${INSIDE}/truth.py go-on ${name}`, timeout_seconds: 45 });
  return `${name}: ${stdout}${stderr}`.trim();
}

/** Forks four children, and two from the first of these, and expects the program to find its state whole in all of them and the parent. */
export async function expectTrue(scenario: Scenario): Promise<void> {
  await using parent = await Sandbox.create({ network: scenario.network ?? false });
  await startProgram(parent, scenario);
  const children = await parent.fork(CHILDREN);
  const [first] = children;
  const grandchildren = first && scenario.grandchildren !== false ? await first.fork(2) : [];
  const named = [
    ["parent", parent] as const,
    ...children.map((child, index) => [`child-${index}`, child] as const),
    ...grandchildren.map((child, index) => [`grandchild-${index}`, child] as const),
  ];
  const verdicts = await Promise.all(named.map(([name, sandbox]) => verdictOf(sandbox, name)));
  expect(verdicts).toEqual(named.map(([name]) => `${name}: ok`));
}
