// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { ActivityLog } from "./activity.ts";
import { NODE_TENANT } from "./owner.ts";

const START = 1_000_000;
const idle = () => ({
  id: "sb_a",
  tenantId: "ten_a",
  snapshotId: "snap_a",
  startedAt: START,
  execCount: 0,
  execsRunning: 0,
  lastActiveAt: START,
});

test("a sandbox that has done nothing is not told", () => {
  const log = new ActivityLog({ all: () => [idle()] });
  expect([log.take(START + 1), log.take(START + 2)]).toEqual([[], []]);
});

test("execs are told once, as many as there were since the last time", () => {
  const sandbox = idle();
  const log = new ActivityLog({ all: () => [sandbox] });
  Object.assign(sandbox, { execCount: 3, lastActiveAt: START + 10 });
  expect(log.take(START + 20)).toEqual([{ sandboxId: "sb_a", count: 3, lastAt: START + 10 }]);
  expect(log.take(START + 30)).toEqual([]);
  Object.assign(sandbox, { execCount: 5, lastActiveAt: START + 40 });
  expect(log.take(START + 50)).toEqual([{ sandboxId: "sb_a", count: 2, lastAt: START + 40 }]);
});

test("a sandbox is active as long as an exec runs in it, and that exec is counted once", () => {
  const sandbox = idle();
  const log = new ActivityLog({ all: () => [sandbox] });
  Object.assign(sandbox, { execCount: 1, execsRunning: 1, lastActiveAt: START + 10 });
  const hour = 3_600_000;
  const told = [log.take(START + hour), log.take(START + 2 * hour)];
  expect(told).toEqual([
    [{ sandboxId: "sb_a", count: 1, lastAt: START + hour }],
    [{ sandboxId: "sb_a", count: 0, lastAt: START + 2 * hour }],
  ]);
  Object.assign(sandbox, { execsRunning: 0, lastActiveAt: START + 2 * hour + 5 });
  expect(log.take(START + 3 * hour)).toEqual([{ sandboxId: "sb_a", count: 0, lastAt: START + 2 * hour + 5 }]);
  expect(log.take(START + 4 * hour)).toEqual([]);
});

test("other use than execs keeps a sandbox alive, and counts as none", () => {
  const sandbox = idle();
  const log = new ActivityLog({ all: () => [sandbox] });
  sandbox.lastActiveAt = START + 10;
  expect(log.take(START + 20)).toEqual([{ sandboxId: "sb_a", count: 0, lastAt: START + 10 }]);
});

test("what was made on the node's own surface, or for a bake, is none of the platform's business", () => {
  const used = { execCount: 1, lastActiveAt: START + 10 };
  const log = new ActivityLog({
    all: () => [
      { ...idle(), ...used, tenantId: NODE_TENANT },
      { ...idle(), ...used, snapshotId: "" },
    ],
  });
  expect(log.take(START + 20)).toEqual([]);
});
