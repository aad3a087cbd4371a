// SPDX-License-Identifier: Apache-2.0
/** The subject as one program without anything of ours around it, for the ways of others: a signal each to write and to answer. */
import { readFile, rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { ANSWER, type Subject } from "../../subject.ts";

const LIMIT_MS = 60_000;
const LOOK_AGAIN_MS = 4;

/** Python source. It tells by files in its root, which any way of forking keeps apart per copy. */
export function programOf({ build, writeLittle, ask }: Subject): string {
  return `
import contextlib, io, os, signal
${build}
def tell(name, text):
    with open(name + ".new", "w") as file:
        file.write(text)
    os.rename(name + ".new", name)
def write(*_):
    global W
    ${writeLittle}
    tell("/written", "1")
def answer(*_):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        ${ask}
    tell("/answer", said.getvalue())
signal.signal(signal.SIGUSR1, answer)
signal.signal(signal.SIGUSR2, write)
tell("/ready", "1")
while True:
    signal.pause()
`;
}

/** Has built its working set. */
export async function untilReady(pid: number): Promise<void> {
  await untilTold(pid, "ready");
}

export async function writeLittle(pid: number): Promise<void> {
  process.kill(pid, "SIGUSR2");
  await untilTold(pid, "written");
}

/** The small answer that shows that a copy has the subject's state. */
export async function askProgram(pid: number): Promise<void> {
  process.kill(pid, "SIGUSR1");
  const said = await untilTold(pid, "answer");
  if (said !== ANSWER) throw new Error(`process ${pid} has another state: ${JSON.stringify(said.slice(0, 200))}`);
}

async function untilTold(pid: number, name: string): Promise<string> {
  const until = performance.now() + LIMIT_MS;
  const file = `/proc/${pid}/root/${name}`;
  for (;;) {
    const said = await readFile(file, "utf8").catch(() => undefined);
    if (said !== undefined) {
      await rm(file);
      return said;
    }
    if (performance.now() > until) throw new Error(`process ${pid} has not said "${name}" within ${LIMIT_MS / 1000} s`);
    await delay(LOOK_AGAIN_MS);
  }
}
