// SPDX-License-Identifier: Apache-2.0
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { ExclusiveTurns } from "../sandbox/turns.ts";
import { CheckpointGate, type InTurn } from "./checkpoint-gate.ts";

const cutOff = new Error("cut off");
const wasCutOff = (error: unknown): boolean => error === cutOff;
const never: InTurn = () => Promise.reject(new Error("no turn is to be taken"));

test("a connection waits while a checkpoint is taken, and a second checkpoint right behind it", async () => {
  const gate = new CheckpointGate();
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const shut = [
    gate.shutWhile(() => first.promise).then(() => seen.push("first")),
    gate.shutWhile(() => second.promise).then(() => seen.push("second")),
  ];
  await turn();
  const passed = gate.pass(async () => seen.push("connected"));
  first.resolve();
  await shut[0];
  await turn();
  expect(seen).toEqual(["first"]);
  second.resolve();
  await Promise.all([...shut, passed]);
  expect(seen.toSorted()).toEqual(["connected", "first", "second"]);
});

test("a checkpoint begins once the connections on their way have arrived, also where they fail", async () => {
  const gate = new CheckpointGate();
  const arriving = Promise.withResolvers<string>();
  const failing = Promise.withResolvers<string>();
  const passed = gate.pass(() => arriving.promise);
  const failed = gate.pass(() => failing.promise).catch((error: unknown) => error);
  await turn();
  let begun = false;
  const shut = gate.shutWhile(async () => void (begun = true));
  await turn();
  arriving.resolve("here");
  await turn();
  expect(begun).toBe(false);
  failing.reject(new Error("refused"));
  await shut;
  expect([begun, await passed]).toEqual([true, "here"]);
  expect(await failed).toMatchObject({ message: "refused" });
});

test("of two checkpoints that are asked for at once one waits for the other", async () => {
  const gate = new CheckpointGate();
  let under = 0;
  const most = await Promise.all(
    [1, 2, 3].map(() =>
      gate.shutWhile(async () => {
        const now = ++under;
        await turn();
        under -= 1;
        return now;
      }),
    ),
  );
  expect(most).toEqual([1, 1, 1]);
});

test("the gate opens again when a checkpoint fails", async () => {
  const gate = new CheckpointGate();
  await expect(gate.shutWhile(() => Promise.reject(new Error("no dump")))).rejects.toThrow("no dump");
  expect(await gate.pass(async () => "connected")).toBe("connected");
});

test("a transfer that a checkpoint cut off is made anew, and the next checkpoint waits for it", async () => {
  const gate = new CheckpointGate();
  const turns = new ExclusiveTurns();
  const seen: string[] = [];
  const checkpoint = (name: string) => turns.take("fork", () => gate.shutWhile(async () => void seen.push(name)));
  const later: Promise<void>[] = [];
  const transfer = async () => {
    const first = seen.length === 0;
    await gate.pass(async () => seen.push("begun"));
    if (first) {
      await checkpoint("first checkpoint");
      throw cutOff;
    }
    later.push(checkpoint("second checkpoint"));
    await turn();
    seen.push("done");
  };
  await gate.undisturbed(transfer, wasCutOff, (work) => turns.take("file", work));
  await Promise.all(later);
  expect(seen).toEqual(["begun", "first checkpoint", "begun", "done", "second checkpoint"]);
});

test.each([
  ["without a checkpoint", cutOff, false],
  ["for another reason during a checkpoint", new Error("no such file"), true],
])("a transfer that fails %s fails", async (_when, error, shut) => {
  const gate = new CheckpointGate();
  const transfer = async () => {
    if (shut) await gate.shutWhile(async () => undefined);
    throw error;
  };
  await expect(gate.undisturbed(transfer, wasCutOff, never)).rejects.toBe(error);
});
