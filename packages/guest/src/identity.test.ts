// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestSandbox } from "../testing/sandbox.ts";

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

const identity = (generation: number) => ({
  hostname: `box-${generation}`,
  sandboxId: `sb_${generation}`,
  generation,
  entropy: randomBytes(32),
});
const draw = "print(random.random(), kept.random(), next(tempfile._get_candidate_names()))";
const fix =
  "import random, tempfile\nrandom.seed(1); kept = random.Random(2); names = tempfile._get_candidate_names(); names._rng_pid = __import__('os').getpid(); names._rng = random.Random(3)";

test("an identity sets the host name and shows in ping", async () => {
  expect(await sandbox.guest.identity(identity(1))).toEqual({ hostnameSet: true });
  expect(await sandbox.sh("hostname")).toBe("box-1\n");
  expect(await sandbox.guest.ping()).toMatchObject({ generation: 1, sandboxId: "sb_1", protocolVersion: 1 });
});

test("generators that were fixed before a restore draw anew in the next generation, and only then", async () => {
  await sandbox.py(fix);
  const before = (await sandbox.py(draw)).split(" ");
  await sandbox.py(fix);
  expect((await sandbox.py(draw)).split(" ")).toEqual(before); // the same generation: nothing is touched
  await sandbox.py(fix);
  await sandbox.guest.identity(identity(2));
  const after = (await sandbox.py(draw)).split(" ");
  expect(after).toHaveLength(3);
  after.forEach((value, i) => expect(value).not.toBe(before[i]));
});

test("a seed makes a cell repeat, says so as partial, and reaches the environment", async () => {
  const seed = Buffer.alloc(32, 0xab);
  const code = "import os, random; print(random.random(), os.environ['COLLIMATE_SEED'])";
  const first = await sandbox.guest.exec({ code, seed });
  const second = await sandbox.guest.exec({ code, seed });
  const other = await sandbox.guest.exec({ code, seed: Buffer.alloc(32, 0xac) });
  expect(first.seedAck).toBe("partial");
  expect(second.stdout).toEqual(first.stdout);
  expect(first.stdout.toString()).toContain("ab".repeat(32));
  expect(other.stdout).not.toEqual(first.stdout);
  expect(await sandbox.py("print('COLLIMATE_SEED' in os.environ)")).toBe("False\n");
});

test("a seed with a new generation fixes the module's generator and re-seeds the kept ones", async () => {
  const seed = Buffer.alloc(32, 7);
  const runs: string[][] = [];
  for (const generation of [10, 11]) {
    await sandbox.py("import random; kept = random.Random(5)");
    await sandbox.guest.identity(identity(generation));
    const { stdout } = await sandbox.guest.exec({ code: "print(random.random(), kept.random())", seed });
    runs.push(stdout.toString().split(" "));
  }
  expect(runs[1]?.[0]).toBe(runs[0]?.[0]);
  expect(runs[0]?.[1]).not.toBe(await sandbox.py("print(random.Random(5).random())"));
});

test("a command knows its seed, and nobody claims that it was applied", async () => {
  const result = await sandbox.guest.exec({ shell: "echo $COLLIMATE_SEED", seed: Buffer.alloc(32, 1) });
  expect(result.stdout.toString()).toBe(`${"01".repeat(32)}\n`);
  expect(result.seedAck).toBe("off");
});

test("numpy: every kept generator is re-seeded, and a seed repeats even for what the cell itself imports", async () => {
  const seed = Buffer.alloc(32, 9);
  const late = "import numpy; print(numpy.random.random(), numpy.random.default_rng is not None)";
  const fresh = async (): Promise<string> => {
    await using other = await TestSandbox.start();
    return (await other.guest.exec({ code: late, seed })).stdout.toString();
  };
  const first = await fresh();
  expect(first).toMatch(/^0\.\d+ True\n$/);
  expect(await fresh()).toBe(first);

  const set =
    "import numpy as np; np.random.seed(1); g = np.random.default_rng(1); r = np.random.RandomState(1); p = np.random.Generator(np.random.PCG64DXSM(1))";
  const draw = "print(np.random.random(), g.random(), r.random(), p.random())";
  await sandbox.py(set);
  const before = (await sandbox.py(draw)).trim().split(" ");
  await sandbox.py(set);
  await sandbox.guest.identity(identity(20));
  const after = (await sandbox.py(draw)).trim().split(" ");
  expect(after).toHaveLength(4);
  after.forEach((value, i) => expect(value).not.toBe(before[i]));
});
