// SPDX-License-Identifier: Apache-2.0
import { type NodeJob, type NodeReport, newId, type OperationEnd, operationChannel, type PlacementJob } from "@collimate/contracts";
import { startStack, type Stack } from "@collimate/embedded";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DeadLetter, openQueues, type Queues, type QueuesOptions } from "./index.ts";

let stack: Stack<"redis">;
let redis: Redis;
beforeAll(async () => {
  stack = await startStack("redis");
  redis = new Redis(stack.redis.url, { maxRetriesPerRequest: null });
});
afterAll(async () => {
  redis.disconnect();
  await stack.stop();
});

/** Queues with keys of their own, so that tests do not meet. */
function open(options: QueuesOptions = {}): Queues {
  return openQueues(stack.redis.url, { prefix: newId("request"), ...options });
}

/** Collects what arrives and lets a test wait for the n-th. */
class Inbox<T> {
  readonly items: T[] = [];
  readonly #waiting: { count: number; resolve: () => void }[] = [];
  readonly put = async (item: T) => {
    this.items.push(item);
    for (const w of this.#waiting) if (this.items.length >= w.count) w.resolve();
  };
  async reach(count: number): Promise<T[]> {
    if (this.items.length < count) await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
    return this.items;
  }
}

const suspend = (operationId: string, attempt = 0): NodeJob => ({
  kind: "suspend",
  operationId,
  tenantId: "ten_1",
  attempt,
  sandboxId: "sb_1",
  snapshotId: "snp_1",
});
const activity = (at: number): NodeReport => ({ kind: "activity", nodeId: "node_1", at, execs: [] });
const heartbeat = (at: number): NodeReport => ({
  kind: "heartbeat",
  nodeId: "node_1",
  at,
  bootId: "b",
  startId: "s",
  url: "http://x",
  draining: false,
  snapshots: [],
  sandboxes: [],
  room: { memoryTotalMib: 1, memoryFreeMib: 1, slotsTotal: 1, slotsFree: 1, vcpus: 1, diskFreeMib: 1 },
  facts: { kernel: "6.1", criu: "4.2", arch: "x64", cgroup: "v2", cpuFeaturesHash: "0" },
});

describe("jobs", () => {
  it("reach their worker parsed, with the defaults of the contract", async () => {
    await using queues = open();
    const inbox = new Inbox<NodeJob>();
    queues.nodeWorker("node_1", inbox.put);
    await queues.nodeQueue("node_1").add(suspend("op_1"));
    expect(await inbox.reach(1)).toEqual([suspend("op_1")]);
  });

  it("collapse when repeated, but not across attempts", async () => {
    await using queues = open();
    const queue = queues.nodeQueue("node_1");
    for (const attempt of [0, 0, 1, 0, 1]) await queue.add(suspend("op_1", attempt));
    const inbox = new Inbox<NodeJob>();
    queues.nodeWorker("node_1", inbox.put);
    await inbox.reach(2);
    await queue.add(suspend("op_1", 0)); // long done
    await queue.add(suspend("op_2", 0));
    expect((await inbox.reach(3)).map((job) => `${job.operationId}-${job.attempt}`)).toEqual(["op_1-0", "op_1-1", "op_2-0"]);
  });

  it("tell where they stand", async () => {
    await using queues = open();
    const queue = queues.nodeQueue("node_1");
    const { promise: gate, resolve: letGo } = Promise.withResolvers<void>();
    const started = new Inbox<NodeJob>();
    expect(await queue.state("op_1", 0)).toBe("absent");
    await queue.add(suspend("op_1"));
    expect(await queue.state("op_1", 0)).toBe("pending");
    const worker = queues.nodeWorker("node_1", async (job) => {
      await started.put(job);
      await gate;
    });
    await started.reach(1);
    expect(await queue.state("op_1", 0)).toBe("running");
    letGo();
    await worker.close();
    expect(await queue.state("op_1", 0)).toBe("ended");
  });

  it("can be repeated after their end", async () => {
    await using queues = open();
    const queue = queues.nodeQueue("node_1");
    const inbox = new Inbox<NodeJob>();
    await queue.add(suspend("op_1"));
    const worker = queues.nodeWorker("node_1", inbox.put);
    await inbox.reach(1);
    await worker.close();
    await queue.repeat(suspend("op_1"));
    expect(await queue.state("op_1", 0)).toBe("pending");
  });

  it("that do not parse become a dead letter, and the worker goes on", async () => {
    const letters = new Inbox<DeadLetter>();
    const prefix = newId("request");
    await using queues = open({ prefix, onDeadLetter: (letter) => void letters.put(letter) });
    const inbox = new Inbox<PlacementJob>();
    const raw = new Queue("placement", { connection: redis, prefix });
    await raw.add("place", { operationId: "../../etc" });
    await queues.enqueuePlacement({ operationId: "op_good" });
    queues.placementWorker(inbox.put);
    expect(await inbox.reach(1)).toEqual([{ operationId: "op_good" }]);
    expect((await letters.reach(1))[0]).toMatchObject({
      queue: "placement",
      reason: expect.stringContaining("operationId"),
      data: expect.stringContaining("etc"),
    });
    await raw.close();
  });

  it("that a producer gets wrong are refused before they reach Redis", async () => {
    await using queues = open();
    await expect(queues.enqueuePlacement({ operationId: "no good" })).rejects.toThrow(/letters, digits/);
  });

  it("whose handler fails are tried again", async () => {
    await using queues = open();
    const tries = new Inbox<number>();
    queues.reportWorker(async (_, { attempt }) => {
      await tries.put(attempt);
      if (attempt < 3) throw new Error("the database is away");
    });
    await queues.report(activity(1));
    expect(await tries.reach(3)).toEqual([1, 2, 3]);
  });

  it("of the heartbeats of one node, only the latest waits", async () => {
    await using queues = open();
    for (const at of [1, 2, 3]) await queues.report(heartbeat(at));
    await queues.report(activity(9));
    const inbox = new Inbox<NodeReport>();
    queues.reportWorker(inbox.put);
    expect((await inbox.reach(2)).map((report) => [report.kind, report.at])).toEqual([
      ["heartbeat", 3],
      ["activity", 9],
    ]);
  });

  it("flow again after Redis lost everything", async () => {
    await using queues = open();
    const inbox = new Inbox<NodeReport>();
    queues.reportWorker(inbox.put);
    await queues.report(activity(1));
    await inbox.reach(1);
    await redis.flushall();
    await queues.report(activity(2));
    expect((await inbox.reach(2)).map((report) => report.at)).toEqual([1, 2]);
  });
});

describe("waiting for an operation", () => {
  const done: OperationEnd = { state: "done", result: { kind: "delete", ended: [] } };
  const never = async () => undefined;

  it("ends with what is told on Redis", async () => {
    await using queues = open();
    await using other = open();
    const id = newId("operation");
    const wait = queues.waitForOperation(id, { timeoutMs: 20_000, pollMs: 20_000, poll: never });
    while ((await redis.pubsub("NUMSUB", operationChannel(id)))[1] === 0) await redis.ping();
    await other.publishOperation(id, done);
    expect(await wait).toEqual(done);
  });

  it("ends with what the database says when the message was missed", async () => {
    await using queues = open();
    const id = newId("operation");
    await queues.publishOperation(id, done);
    const answers = [undefined, undefined, done];
    expect(await queues.waitForOperation(id, { timeoutMs: 20_000, pollMs: 5, poll: async () => answers.shift() })).toEqual(done);
  });

  it("goes on through a poll that fails and a message that is none", async () => {
    const errors: string[] = [];
    await using queues = open({ onError: (error) => errors.push(error.message) });
    const id = newId("operation");
    let asked = 0;
    const poll = async () => {
      asked += 1;
      if (asked === 1) throw new Error("no database");
      if (asked === 2) await redis.publish(operationChannel(id), "{nonsense");
      return asked < 4 ? undefined : done;
    };
    expect(await queues.waitForOperation(id, { timeoutMs: 20_000, pollMs: 5, poll })).toEqual(done);
    expect(errors).toContain("no database");
  });

  it("ends at its deadline, and when the caller goes", async () => {
    await using queues = open();
    expect(await queues.waitForOperation("op_1", { timeoutMs: 10, poll: never })).toBeUndefined();
    const gone = new AbortController();
    const wait = queues.waitForOperation("op_2", { timeoutMs: 20_000, poll: never, signal: gone.signal });
    gone.abort();
    expect(await wait).toBeUndefined();
    expect(await queues.waitForOperation("op_3", { timeoutMs: 20_000, poll: never, signal: gone.signal })).toBeUndefined();
  });

  it("leaves no subscription behind", async () => {
    await using queues = open();
    const id = newId("operation");
    await queues.waitForOperation(id, { timeoutMs: 1, poll: never });
    await expect.poll(async () => (await redis.pubsub("NUMSUB", operationChannel(id)))[1], { interval: 1, timeout: 20_000 }).toBe(0);
  });
});
