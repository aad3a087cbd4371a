// SPDX-License-Identifier: Apache-2.0
import { migrate } from "@collimate/db";
import { freePort } from "@collimate/embedded";
import { freshDatabase } from "@collimate/testing";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, it } from "vitest";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));

function start(environment: Record<string, string>) {
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env["PATH"] ?? "", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return { child, ended: once(child, "exit"), stdout: text(child.stdout), stderr: text(child.stderr) };
}

describe("the process", () => {
  it("says all that its environment lacks and gives 1", async () => {
    const { ended, stderr } = start({ REDIS_URL: "redis://127.0.0.1" });
    expect((await ended)[0]).toBe(1);
    expect(await stderr).toMatch(/DATABASE_URL: is not set\n.*AGENT_SECRET: is not set\n.*ADMIN_TOKEN: is not set/);
  });

  it("gives 1 and the reason when its database does not answer", async () => {
    const port = await freePort();
    const { ended, stderr } = start({
      DATABASE_URL: `postgresql://127.0.0.1:${port}/x`,
      REDIS_URL: inject("redisUrl"),
      AGENT_SECRET: "a".repeat(32),
      ADMIN_TOKEN: "b".repeat(32),
      API_PORT: "0",
    });
    expect((await ended)[0]).toBe(1);
    expect(await stderr).not.toBe("");
  });

  it("listens, logs JSON without secrets, and ends with 0 on SIGTERM", async () => {
    const databaseUrl = await freshDatabase();
    await migrate(databaseUrl);
    const port = await freePort();
    const secret = "b".repeat(32);
    const { child, ended, stdout } = start({
      DATABASE_URL: databaseUrl,
      REDIS_URL: inject("redisUrl"),
      AGENT_SECRET: "a".repeat(32),
      ADMIN_TOKEN: secret,
      API_PORT: String(port),
    });
    await expect
      .poll(
        () =>
          fetch(`http://127.0.0.1:${port}/readyz`).then(
            (response) => response.status,
            () => 0,
          ),
        { interval: 100 },
      )
      .toBe(200);
    await fetch(`http://127.0.0.1:${port}/internal/tenants`, { method: "POST", headers: { authorization: `Bearer ${secret}` } });
    child.kill("SIGTERM");
    expect((await ended)[0]).toBe(0);
    const lines = (await stdout)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.some((line) => line.msg === "the api is listening")).toBe(true);
    expect(lines.some((line) => line.route === "/internal/tenants" && line.status === 400)).toBe(true);
    expect(JSON.stringify(lines)).not.toContain(secret);
  });
});
