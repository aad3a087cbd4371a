// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KEY, refuse, send, WireServer } from "../../tests/wire-server.ts";
import type { Client } from "../client.ts";
import { connect } from "../connection/connect.ts";
import { ConfigurationError, ForkFailedError, TeardownError } from "../errors.ts";
import type { Session } from "./session.ts";

let server: WireServer;
let client: Client;
let parent: Session;
beforeEach(async () => {
  server = await WireServer.start();
  client = await connect({ url: server.url, apiKey: KEY, env: {}, retries: 1 });
  parent = await client.session(server.addTemplate().id);
});
afterEach(() => server[Symbol.asyncDispose]());

/** Resolves for everybody when `count` have come. */
function meeting(count: number): () => Promise<void> {
  let come = 0;
  let open = (): void => undefined;
  const all = new Promise<void>((resolve) => {
    open = resolve;
  });
  return () => {
    if (++come === count) open();
    return all;
  };
}

describe("a fork", () => {
  it("of 64 is one request", async () => {
    const group = await parent.fork(64);
    expect(group).toMatchObject({ length: 64, forkTimeMs: 12, pauseMs: 4 });
    expect(server.requests("fork$")).toHaveLength(1);
  });

  it("gives all children the same seed, to the server as well, unless they are to differ", async () => {
    const common = await parent.fork(3);
    expect(new Set(common.seeds).size).toBe(1);
    expect(common.seeds[0]).toMatch(/^[0-9a-f]{64}$/);
    const differing = await parent.fork(3, { seedMode: "vanilla" });
    expect(differing.seeds).toEqual([null, null, null]);
    expect(server.requests("fork$").map((request) => request.body)).toEqual([{ count: 3, seeds: common.seeds }, { count: 3 }]);
  });

  it("labels by position", async () => {
    const group = await parent.fork(2, { labels: ["a", "b"] });
    expect(group.children.map((child) => child.sandbox.label)).toEqual(["a", "b"]);
    await expect(parent.fork(2, { labels: ["a"] })).rejects.toBeInstanceOf(ConfigurationError);
  });

  it.each([0, -1, 1.5, Number.NaN])("of %d children is refused before anything is sent", async (count) => {
    await expect(parent.fork(count)).rejects.toBeInstanceOf(ConfigurationError);
    expect(server.requests("fork$")).toEqual([]);
  });

  it("that gave fewer children than asked keeps none", async () => {
    server.fail("fork$", async (request, response) => {
      const short = { ...request, body: { count: 3 }, headers: { authorization: request.headers.authorization } };
      send(response, 200, (await server.answer(short)).body);
      return true;
    });
    await expect(parent.fork(4)).rejects.toBeInstanceOf(ForkFailedError);
    expect([...server.sandboxes.keys()]).toEqual([parent.id]);
  });

  it("can be forked again from a child", async () => {
    const group = await parent.fork(2);
    const grandchildren = await group.children[1]?.fork(2);
    expect(grandchildren?.children.map((child) => child.sandbox.parentId)).toEqual([group.children[1]?.id, group.children[1]?.id]);
  });
});

describe("a group", () => {
  it("runs in all children at once and gives results by position", async () => {
    server.running = meeting(64);
    await using group = await parent.fork(64);
    const outputs = await group.map(async (child, index) => (await child.exec({ code: `print(${index})` })).stdout);
    expect(outputs).toEqual(Array.from({ length: 64 }, (_, index) => `print(${index})`));
    expect(server.widest).toBe(64);
  });

  it("runs in no more than asked at once", async () => {
    server.running = () => new Promise((resolve) => setImmediate(resolve));
    await using group = await parent.fork(12);
    await group.execEach({ command: "true" }, { concurrency: 3 });
    expect(server.widest).toBeLessThanOrEqual(3);
    expect(server.runs).toHaveLength(12);
  });

  it("deletes its children at the end of the block, the parent not", async () => {
    {
      await using group = await parent.fork(16);
      expect(server.sandboxes.size).toBe(1 + group.length);
    }
    expect([...server.sandboxes.keys()]).toEqual([parent.id]);
  });

  it("deletes all children that it can, and names those that it could not", async () => {
    const group = await parent.fork(4);
    server.fail(`DELETE /v1/sandboxes/${group.children[2]?.id}$`, refuse("internal"));
    const error: unknown = await group.close().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TeardownError);
    expect(error).toMatchObject({ failures: [{ sandboxId: group.children[2]?.id }] });
    expect(new Set(server.sandboxes.keys())).toEqual(new Set([parent.id, group.children[2]?.id]));
  });

  it("ends with the first error when work on a child fails, and the block still deletes all", async () => {
    const block = async (): Promise<void> => {
      await using group = await parent.fork(8);
      await group.map((_child, index) => (index === 5 ? Promise.reject(new Error("child 5")) : Promise.resolve()));
    };
    await expect(block()).rejects.toThrowError("child 5");
    expect([...server.sandboxes.keys()]).toEqual([parent.id]);
  });

  it("can give errors their place among the results", async () => {
    await using group = await parent.fork(3);
    const results = await group.mapSettled((_child, index) => (index === 1 ? Promise.reject(new Error("one")) : Promise.resolve(index)));
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  it("stops its other execs when one fails", async () => {
    await using group = await parent.fork(3);
    const all = meeting(2);
    let told = 0;
    const work = group.map(async (_child, index, signal) => {
      if (index === 2) {
        await all();
        throw new Error("two");
      }
      await new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => {
          told++;
          resolve();
        });
        void all();
      });
    });
    await expect(work).rejects.toThrowError("two");
    expect(told).toBe(2);
  });
});
