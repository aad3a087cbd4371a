// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestSandbox, until } from "../testing/sandbox.ts";

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

/** 1 MiB lines that can be told apart, as the command below writes them. */
const expected = (megabytes: number): string => {
  const hash = createHash("sha256");
  for (let i = 0; i < megabytes; i++) hash.update(String(i % 10).repeat(1024 * 1024));
  return hash.digest("hex");
};
const numbers = (megabytes: number): string =>
  `i=0; while [ $i -lt ${megabytes} ]; do head -c 1048576 /dev/zero | tr '\\0' $((i % 10)); i=$((i+1)); done`;

test("a detached command runs on, and an attach gets every byte that nobody has got", async () => {
  const hash = createHash("sha256");
  let bytes = 0;
  const take = (chunk: Buffer): void => {
    hash.update(chunk);
    bytes += chunk.length;
  };
  let execution = await sandbox.guest.start({ id: "detach.1", shell: `${numbers(24)}; exit 5` }, { onStdout: take });
  for (let round = 0; round < 6; round++) {
    await execution.detach();
    execution = await sandbox.guest.attach("detach.1", { onStdout: take });
  }
  expect((await execution.result).exitCode).toBe(5);
  expect(bytes).toBe(24 * 1024 * 1024);
  expect(hash.digest("hex")).toBe(expected(24));
});

test("a quiesce lets go of every connection, and clients go on where they were", async () => {
  const hash = createHash("sha256");
  let reconnects = 0;
  let quiesced = Promise.withResolvers<void>();
  const running = sandbox.guest.exec(
    { shell: numbers(24) },
    { onStdout: (chunk) => void hash.update(chunk), reconnect: () => ((reconnects += 1), quiesced.promise) },
  );
  const cell = sandbox.guest.exec(
    { code: "import time\nfor i in range(40):\n  print(i, flush=True); time.sleep(0.01)" },
    { reconnect: () => quiesced.promise },
  );
  const input = Buffer.alloc(8 * 1024 * 1024, "abcdefg\n");
  const reading = sandbox.guest.exec({ shell: "sleep 0.3; sha256sum", stdin: input }, { reconnect: () => quiesced.promise });
  for (let round = 0; round < 5; round++) {
    expect(await sandbox.guest.quiesce()).toBe(0);
    quiesced.resolve();
    quiesced = Promise.withResolvers<void>();
    await sandbox.sh("sleep 0.03");
  }
  quiesced.resolve();
  expect((await running).stdoutBytes).toBe(24 * 1024 * 1024);
  expect(hash.digest("hex")).toBe(expected(24));
  expect(reconnects).toBeGreaterThan(0);
  expect((await cell).stdout.toString()).toBe(Array.from({ length: 40 }, (_, i) => `${i}\n`).join(""));
  expect((await reading).stdout.toString().slice(0, 64)).toBe(createHash("sha256").update(input).digest("hex"));
});

test("output that nobody fetches holds the command back at 1 MiB, not the memory", async () => {
  const first = await sandbox.guest.start({ id: "full", shell: `${numbers(8)}; echo done > /dev/shm/full` }, {});
  await first.detach();
  await sandbox.sh("sleep 0.5; ! test -e /dev/shm/full");
  const second = await sandbox.guest.attach("full");
  const result = await second.result;
  expect(result.exitCode).toBe(0);
});

test("a result waits for the client that attaches, once", async () => {
  const first = await sandbox.guest.start({ id: "waits", shell: "sleep 0.2; echo kept; exit 3" }, {});
  await first.detach();
  await until(async () => (await sandbox.sh("pgrep -f 'echo [k]ept' || true")) === "");
  const result = await (await sandbox.guest.attach("waits")).result;
  expect(result.exitCode).toBe(3);
  await expect((await sandbox.guest.attach("waits")).result).rejects.toMatchObject({ code: "no_such_exec" });
});

test("two execs cannot have one id", async () => {
  const first = await sandbox.guest.start({ id: "twice", shell: "sleep 0.3" });
  await expect(sandbox.guest.exec({ id: "twice", shell: "true" })).rejects.toMatchObject({ code: "exec_exists" });
  expect((await first.result).exitCode).toBe(0);
  await until(async () => (await sandbox.guest.ping()).execsRunning === 0);
  expect((await sandbox.guest.exec({ id: "twice", shell: "true" })).exitCode).toBe(0);
});

test("another identity means that nobody claims the output of what runs: it is dropped and the command ends", async () => {
  const identity = { hostname: "one", sandboxId: "sb_one", generation: 1, entropy: Buffer.alloc(32, 1) };
  await sandbox.guest.identity(identity);
  const execution = await sandbox.guest.start({ id: "orphan", shell: numbers(16) });
  await execution.detach();
  await sandbox.guest.identity({ ...identity, generation: 2 });
  expect((await sandbox.guest.ping()).execsRunning).toBe(1); // the same sandbox, restored: still claimed
  await sandbox.guest.identity({ ...identity, sandboxId: "sb_two", generation: 3 });
  await until(async () => (await sandbox.guest.ping()).execsRunning === 0);
});

test("many streams in both directions lose nothing over many quiesces, and no exec runs twice", async () => {
  const input = Buffer.alloc(2_000_000, "0123456789\n");
  const wanted = createHash("sha256").update(input).digest("hex");
  let gate: PromiseWithResolvers<void> | undefined;
  let reconnects = 0;
  const reconnect = async (): Promise<void> => {
    reconnects += 1;
    while (gate) await gate.promise;
  };
  const echo = async (exitCode: number): Promise<void> => {
    const hash = createHash("sha256");
    const result = await sandbox.guest.exec(
      { shell: `cat; exit ${exitCode}`, stdin: input },
      { onStdout: (chunk) => void hash.update(chunk), reconnect },
    );
    expect([result.exitCode, hash.digest("hex")]).toEqual([exitCode, wanted]);
  };
  const cell = async (): Promise<void> => {
    const { stdout } = await sandbox.guest.exec({ code: "print('x' * 300_000)\nruns.append(1)" }, { reconnect });
    expect(stdout.length).toBe(300_001);
  };
  await sandbox.py("runs = []");
  let over = false;
  const work = Promise.all(
    Array.from({ length: 15 }, async (_, i) => {
      for (let round = 0; round < 3; round++) {
        while (gate) await gate.promise;
        await (i % 3 === 0 ? cell() : echo(i));
      }
    }),
  ).finally(() => (over = true));
  while (!over) {
    gate = Promise.withResolvers();
    const { resolve } = gate;
    expect(await sandbox.guest.quiesce(2000)).toBe(0);
    gate = undefined;
    resolve();
    await new Promise((done) => setTimeout(done, 20));
  }
  await work;
  expect(reconnects).toBeGreaterThan(10);
  expect(await sandbox.py("print(len(runs))")).toBe("15\n");
});
