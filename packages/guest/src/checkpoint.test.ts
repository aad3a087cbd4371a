// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { dump, restore } from "../testing/checkpoint.ts";
import { TestSandbox, until } from "../testing/sandbox.ts";

/** Not on the disk of "/": overlayfs refuses layers that lie in one another. */
const shared = "/dev/shm/guest-checkpoint-";
const identity = (sandboxId: string, generation: number, fill: number) => ({
  hostname: sandboxId,
  sandboxId,
  generation,
  entropy: Buffer.alloc(32, fill),
});

test("a sandbox with an interpreter, running commands and open streams lives on in its children", async () => {
  const folder = await mkdtemp(shared);
  try {
    const parent = await TestSandbox.startDumpable(folder);
    await parent.guest.identity(identity("sb_parent", 1, 1));
    await parent.py(
      "import random, threading, subprocess\nx = 41\nkept = random.Random(1)\nbackground = subprocess.Popen(['sleep', '321.1'])",
    );

    let seen = "";
    const counting = parent.guest.start(
      { id: "count", shell: "i=0; while [ $i -lt 60 ]; do echo $i; i=$((i+1)); sleep 0.02; done; exit 9" },
      { onStdout: (chunk) => void (seen += chunk.toString()) },
    );
    const execution = await counting;
    execution.result.catch(() => undefined); // its sandbox ends here
    await until(() => seen.includes("5\n"));
    const cell = await parent.guest.start({ id: "cell", code: "import time\nfor i in range(40): print(i); time.sleep(0.02)\nx += 1" });
    await until(() => cell.pid > 0);
    cell.result.catch(() => undefined);

    expect(await parent.guest.quiesce()).toBe(0);
    await dump(parent, folder);
    await parent[Symbol.asyncDispose]();

    await using same = await restore(folder, "same");
    await using other = await restore(folder, "other");
    await same.guest.identity(identity("sb_parent", 2, 2));
    await other.guest.identity(identity("sb_other", 2, 3));

    // The parent's own successor: its streams go on where they stopped.
    const rest = await (await same.guest.attach("count")).result;
    expect(rest.exitCode).toBe(9);
    expect(seen + rest.stdout.toString()).toBe(Array.from({ length: 60 }, (_, i) => `${i}\n`).join(""));
    expect((await (await same.guest.attach("cell")).result).exitCode).toBe(0);

    // Another sandbox: the same processes, but their output has no owner.
    await until(async () => (await other.guest.ping()).execsRunning === 0);
    await expect((await other.guest.attach("count")).result).rejects.toMatchObject({ code: "no_such_exec" });

    for (const child of [same, other]) {
      expect(await child.py("print(x, background.poll())")).toBe("42 None\n");
      expect(await child.sh("hostname")).toMatch(/^sb_/);
      expect(await child.sh("echo new > /written; cat /written")).toBe("new\n");
    }
    const draws = await Promise.all([same, other].map((child) => child.py("print(random.random(), kept.random())")));
    const [left, right] = draws.map((text) => text.trim().split(" "));
    left?.forEach((value, i) => expect(value).not.toBe(right?.[i]));
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("children with one seed draw the same, from kept generators too", async () => {
  const folder = await mkdtemp(shared);
  try {
    const parent = await TestSandbox.startDumpable(folder);
    await parent.py("import random\nkept = [random.Random() for _ in range(3)]");
    expect(await parent.guest.quiesce()).toBe(0);
    await dump(parent, folder);
    await parent[Symbol.asyncDispose]();
    await using one = await restore(folder, "one");
    await using two = await restore(folder, "two");
    await using three = await restore(folder, "three");
    const draws: string[] = [];
    for (const [i, [child, fill]] of (
      [
        [one, 7],
        [two, 7],
        [three, 8],
      ] as const
    ).entries()) {
      await child.guest.identity(identity(`sb_${i}`, 1, i));
      const { stdout, seedAck } = await child.guest.exec({
        code: "print(random.random(), *[k.random() for k in kept])",
        seed: Buffer.alloc(32, fill),
      });
      expect(seedAck).toBe("partial");
      draws.push(stdout.toString());
    }
    expect(draws[1]).toBe(draws[0]);
    expect(draws[2]).not.toBe(draws[0]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
