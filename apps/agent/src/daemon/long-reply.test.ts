// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import Fastify from "fastify";
import { describe, expect, it } from "vitest";
import { longReply } from "./long-reply.ts";

async function served(work: Promise<object>, early: number, use: (reply: IncomingMessage) => Promise<void>): Promise<void> {
  const server = Fastify({ forceCloseConnections: true });
  server.get("/", (_request, reply) => longReply(reply, work, { earlyMs: early, blankMs: 1 }));
  const url = await server.listen({ host: "127.0.0.1", port: 0 });
  try {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    get(url, resolve).once("error", reject);
    await use(await promise);
  } finally {
    await server.close();
  }
}

describe("a long reply", () => {
  it("sends its headers before the work has ended, then blanks, then JSON", async () => {
    const work = Promise.withResolvers<object>();
    await served(work.promise, 0, async (reply) => {
      expect([reply.statusCode, reply.headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"]);
      await once(reply, "readable");
      work.resolve({ exit_code: 0 });
      const body = await text(reply);
      expect(body).toMatch(/^ +\{/);
      expect(JSON.parse(body)).toEqual({ exit_code: 0 });
    });
  });

  it("of work that ends in time is an ordinary one", async () => {
    await served(Promise.resolve({ a: 1 }), 10_000, async (reply) => {
      expect(reply.headers["content-length"]).toBe("7");
      expect(await text(reply)).toBe('{"a":1}');
    });
  });

  it("whose work fails late is broken off, so that nobody takes it for a success", async () => {
    const work = Promise.withResolvers<object>();
    await served(work.promise, 0, async (reply) => {
      work.reject(new Error("the sandbox has ended"));
      await expect(text(reply)).rejects.toThrow(/aborted|ECONNRESET/);
    });
  });
});
