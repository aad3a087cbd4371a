// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { parseRedisUrl } from "./index.ts";

describe("a Redis URL", () => {
  it("may carry credentials, a database and TLS", () => {
    expect(parseRedisUrl("rediss://user:p%40ss@redis.internal:6380/3")).toEqual({
      username: "user",
      password: "p@ss",
      host: "redis.internal",
      port: 6380,
      db: 3,
      tls: { servername: "redis.internal" },
    });
    expect(parseRedisUrl("redis://:secret@[::1]")).toEqual({ password: "secret", host: "::1", port: 6379 });
    expect(parseRedisUrl("unix:///run/redis.sock")).toEqual({ path: "/run/redis.sock" });
  });
  it("is refused, without being quoted, when it is something else", () => {
    expect(() => parseRedisUrl("http://user:secret@x")).toThrow(/starts with redis:/);
    expect(() => parseRedisUrl("redis://:secret@x/abc")).toThrow(/database number/);
  });
});
