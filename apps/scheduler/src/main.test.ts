// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { migrate } from "@collimate/db";
import { freshDatabase } from "@collimate/testing";
import { expect, inject, it } from "vitest";

function start(environment: Record<string, string>) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("./main.ts", import.meta.url))], {
    env: { PATH: process.env["PATH"] ?? "", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => output.push(text));
  /** Resolves when a log line has the message. */
  const says = async (message: string) => {
    while (!output.join("").includes(`"msg":"${message}"`)) await once(child.stdout, "data", { signal: AbortSignal.timeout(20_000) });
    return (
      output
        .join("")
        .split("\n")
        .find((line) => line.includes(message)) ?? ""
    );
  };
  return { child, output, says, exited: once(child, "exit") };
}

it("runs from its environment, tells that it is ready, and stops when told to", async () => {
  const databaseUrl = await freshDatabase();
  await migrate(databaseUrl);
  const { child, says, exited } = start({ DATABASE_URL: databaseUrl, REDIS_URL: inject("redisUrl"), SCHEDULER_PORT: "0" });
  const { port }: { port: number } = JSON.parse(await says("the scheduler is running"));
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toContain("collimate_operations_waiting");
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});

it("ends at once, with all that is missing, when its environment is not right", async () => {
  const { output, exited } = start({ SCHEDULER_PORT: "http" });
  expect(await exited).toEqual([1, null]);
  expect(output.join("")).toMatch(/DATABASE_URL is missing\n\s+REDIS_URL is missing\n\s+SCHEDULER_PORT must be a number/);
});
