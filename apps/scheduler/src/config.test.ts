// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { ConfigError, readConfig } from "./config.ts";

it("tells everything that is wrong with the environment at once, without quoting secrets", () => {
  const read = () => readConfig({ DATABASE_URL: "mysql://user:hunter2@x", SCHEDULER_PORT: "99999999", SCHEDULER_IDLE_MS: "soon" });
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(
    /DATABASE_URL must be a URL that starts with postgres:[^]*REDIS_URL is missing[^]*SCHEDULER_PORT[^]*SCHEDULER_IDLE_MS must be a number/,
  );
  expect(read).not.toThrow(/hunter2/);
});

it("has a default for everything but the addresses", () => {
  const config = readConfig({ DATABASE_URL: "postgres://x/y", REDIS_URL: "redis://x", SCHEDULER_PORT: "" });
  expect(config).toMatchObject({ port: 9470, policy: { idleMs: 1_800_000, nodeFreshMs: 15_000, nodeLostMs: 60_000 } });
});
