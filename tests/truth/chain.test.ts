// SPDX-License-Identifier: Apache-2.0
/** Children of children of children: what was written by whom in which generation is right to the last byte. */
import { often } from "@collimate/testing/full";
import { expect, test } from "vitest";
import { Sandbox } from "./engine/sandbox.ts";

const GENERATIONS = often(12, 100);
const LIMIT_MS = often(60_000, 600_000);

/** Each block tells who wrote it last; what should be there is worked out anew in every generation, from nothing but its number. */
const START = `
import numpy
BLOCKS, WORDS, WRITES = 8192, 512, 300
def writes(generation):
    return numpy.random.Generator(numpy.random.PCG64(generation)).integers(0, BLOCKS, WRITES)
def content(block, generation):
    return block * 1_000_003 + generation
memory = numpy.repeat(content(numpy.arange(BLOCKS), 0), WORDS).reshape(BLOCKS, WORDS)
def live(generation):
    blocks = writes(generation)
    memory[blocks] = content(blocks, generation)[:, None]
    with open("/tmp/line", "a") as line:
        line.write(f"{generation}\\n")
def wrong_bytes(generation):
    last = numpy.zeros(BLOCKS, dtype=int)
    for one in range(1, generation + 1):
        last[writes(one)] = one
    expected = numpy.repeat(content(numpy.arange(BLOCKS), last), WORDS).reshape(BLOCKS, WORDS)
    with open("/tmp/line") as line:
        lines = line.read() != "".join(f"{one}\\n" for one in range(1, generation + 1))
    return int((memory.view("u1") != expected.view("u1")).sum()), lines
`;

async function cell(sandbox: Sandbox, code: string): Promise<string> {
  const { exitCode, stdout, stderr } = await sandbox.exec({ code, timeout_seconds: 30 });
  expect(exitCode, stderr).toBe(0);
  return stdout;
}

test(
  `${GENERATIONS} generations, each forked from the last: not one wrong byte in memory or in the writable layer`,
  async () => {
    let current = await Sandbox.create();
    try {
      await cell(current, START);
      for (let generation = 1; generation <= GENERATIONS; generation++) {
        await cell(current, `live(${generation})`);
        const [child] = await current.fork(1);
        if (child === undefined) throw new Error("a fork without a child");
        await current.end();
        current = child;
        expect(await cell(current, `print(*wrong_bytes(${generation}))`), `generation ${generation}`).toBe("0 False\n");
      }
    } finally {
      await current.end();
    }
  },
  LIMIT_MS,
);
