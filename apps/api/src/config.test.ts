// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { readConfig } from "./config.ts";

const good = {
  DATABASE_URL: "postgresql://u@127.0.0.1/c",
  REDIS_URL: "redis://127.0.0.1",
  AGENT_SECRET: "a".repeat(32),
  ADMIN_TOKEN: "b".repeat(32),
};

describe("the api's environment", () => {
  it("is read with defaults", () => {
    expect(readConfig(good)).toMatchObject({
      host: "127.0.0.1",
      port: 8080,
      holdMs: 110_000,
      rates: { vcpuSecondMicros: 0, gibSecondMicros: 0 },
    });
  });
  it("has every mistake listed at once, without repeating secrets", () => {
    const attempt = () => readConfig({ REDIS_URL: "http://x", AGENT_SECRET: "shortsecret", API_PORT: "70000" });
    expect(attempt).toThrowError(
      /DATABASE_URL: is not set[\s\S]*REDIS_URL[\s\S]*AGENT_SECRET: at least 32[\s\S]*ADMIN_TOKEN: is not set[\s\S]*API_PORT/,
    );
    expect(attempt).not.toThrowError(/shortsecret/);
  });
  it("never holds a request longer than published clients wait", () => {
    expect(() => readConfig({ ...good, API_HOLD_SECONDS: "119" })).toThrowError(/API_HOLD_SECONDS/);
  });
});
