// SPDX-License-Identifier: Apache-2.0
/**
 * One truth: a program builds some state inside a sandbox and stops at its checkpoint; the sandbox is forked; then the
 * program goes on everywhere and checks what it had. programs/truth.py is the side inside.
 */
import { readFile } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { expect } from "vitest";
import type { Image } from "./engine/images.ts";
import { Sandbox } from "./engine/sandbox.ts";

const CHILDREN = 8;
const GRANDCHILDREN = 2;
const INSIDE = "/tmp/truth";

export interface Scenario {
  /** Default: truth. */
  readonly image?: Image;
  /** A file of programs/. */
  readonly program: string;
  readonly args?: string;
  /** Before the program's name: variables, another program. */
  readonly before?: string;
  /** Of a program in C. Default: gcc. */
  readonly compiler?: string;
  /** The first child is forked too, and its children are checked instead of it. Default true. */
  readonly grandchildren?: boolean;
  /** The sandbox has a way to the outside. Default false. */
  readonly network?: boolean;
}

async function source(name: string): Promise<{ path: string; content: string }> {
  return { path: `${INSIDE}/${name}`, content: await readFile(join(import.meta.dirname, "programs", name), "utf8") };
}

function sources({ program }: Scenario): Promise<{ path: string; content: string }[]> {
  return Promise.all([source("truth.py"), source("truth.h"), source(program)]);
}

/** Ends when the program stands at its checkpoint. */
function startCommand({ program, args = "", before = "", compiler = "gcc" }: Scenario): string {
  const path = `${INSIDE}/${program}`;
  const [build, run] = {
    ".c": [`${compiler} -O1 -pthread -o ${INSIDE}/program ${path}`, `${INSIDE}/program`],
    ".go": [`GO111MODULE=off GOCACHE=/tmp/go CGO_ENABLED=0 go build -o ${INSIDE}/program ${path}`, `${INSIDE}/program`],
    ".java": [
      `javac -d ${INSIDE} ${path}`,
      `java -XX:+UseG1GC -Xmx192m -XX:MaxDirectMemorySize=192m -cp ${INSIDE} ${basename(program, ".java")}`,
    ],
    ".py": ["true", `python3 ${path}`],
  }[extname(program)] ?? ["false", ""];
  return `cd ${INSIDE} && ${build} && { env ${before} ${run} ${args} >log 2>&1 </dev/null & } && python3 truth.py await-checkpoint`;
}

/** Has the program stand at its checkpoint. */
export async function startProgram(sandbox: Sandbox, scenario: Scenario): Promise<void> {
  await sandbox.exec({ files: await sources(scenario) });
  const started = await sandbox.exec({ command: startCommand(scenario), timeout_seconds: 90 });
  expect(started.exitCode, started.stderr + started.stdout).toBe(0);
}

/** A ready command for a template in which the program stands at its checkpoint. */
export async function readyWith(scenario: Scenario): Promise<string> {
  const files = (await sources(scenario)).map(
    ({ path, content }) => `echo ${Buffer.from(content).toString("base64")} | base64 -d >${path}`,
  );
  return [`mkdir -p ${INSIDE}`, ...files, startCommand(scenario)].join(" && ");
}

/** What the program finds when it goes on in this sandbox: "ok", or what it complains of. */
export async function verdictOf(sandbox: Sandbox, name: string): Promise<string> {
  const { stdout, stderr } = await sandbox.exec({ command: `python3 ${INSIDE}/truth.py go-on ${name}`, timeout_seconds: 130 });
  return `${name}: ${stdout}${stderr}`.trim();
}

/** A sandbox under the name that its program is told, so that no two do the same. */
export type Named = readonly [name: string, sandbox: Sandbox];

/** The parent, eight children and two children of the first of these; the last child was suspended and resumed besides. */
export async function family(parent: Sandbox, grandchildren = true): Promise<Named[]> {
  const children = await parent.fork(CHILDREN);
  const [first] = children;
  await children.at(-1)?.suspendAndResume();
  const last = first && grandchildren ? await first.fork(GRANDCHILDREN) : [];
  return [
    ["parent", parent],
    ...children.map((child, index): Named => [`${index < CHILDREN - 1 ? "child" : "resumed"}-${index}`, child]),
    ...last.map((child, index): Named => [`grandchild-${index}`, child]),
  ];
}

/** Expects the program to find its state whole in a whole family. */
export async function expectTrue(scenario: Scenario): Promise<void> {
  await using parent = await Sandbox.create(scenario.image, "true", scenario.network);
  await startProgram(parent, scenario);
  const named = await family(parent, scenario.grandchildren);
  const verdicts = await Promise.all(named.map(([name, sandbox]) => verdictOf(sandbox, name)));
  expect(verdicts).toEqual(named.map(([name]) => `${name}: ok`));
}

/** Verdicts of many forks. A program ends at its first wrong byte: a complaint is at least one. */
export interface Tally {
  forks: number;
  complaints: string[];
}

/**
 * Asks a program that comes to its checkpoint again and again, over this many forks. In each round eight children and two
 * grandchildren go on, then the parent; in every second one the parent was suspended and resumed before.
 */
export async function askOver(forks: number, scenario: Scenario): Promise<Tally> {
  await using parent = await Sandbox.create(scenario.image);
  await startProgram(parent, scenario);
  const tally: Tally = { forks: 0, complaints: [] };
  for (let round = 0; tally.forks < forks; round++) {
    if (round % 2 === 1) await parent.suspendAndResume();
    await askRound(parent, `round-${round}`, tally);
    const verdict = await verdictOf(parent, "parent");
    if (verdict !== "parent: ok") {
      tally.complaints.push(`${verdict} in round ${round}`);
      break;
    }
    await parent.shell(`python3 ${INSIDE}/truth.py await-checkpoint`, 90);
  }
  return tally;
}

async function askRound(parent: Sandbox, round: string, tally: Tally): Promise<void> {
  await using forks = new AsyncDisposableStack();
  const children = (await parent.fork(CHILDREN)).map((child) => forks.use(child));
  const grandchildren = (await children[0]?.fork(GRANDCHILDREN)) ?? [];
  const all = [...children, ...grandchildren];
  const verdicts = await Promise.all(all.map((sandbox, index) => verdictOf(sandbox, `${round}-${index}`)));
  tally.forks += all.length;
  tally.complaints.push(...verdicts.filter((verdict, index) => verdict !== `${round}-${index}: ok`));
}
