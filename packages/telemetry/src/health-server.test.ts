// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { createRegistry, Gauge, serveHealth } from "./index.ts";

it("tells health, readiness and figures, and what is missing", async () => {
  const registry = createRegistry("test");
  new Gauge({ name: "answers", help: "x", registers: [registry] }).set(42);
  let trouble: string | undefined = "no database";
  await using server = await serveHealth({
    host: "127.0.0.1",
    port: 0,
    registry,
    ready: async () => {
      if (trouble) throw new Error(trouble);
    },
  });
  const get = (path: string) => fetch(`http://127.0.0.1:${server.port}${path}`);
  expect((await get("/healthz")).status).toBe(200);
  const unready = await get("/readyz");
  expect([unready.status, await unready.json()]).toEqual([503, { status: "not ready", reason: "no database" }]);
  trouble = undefined;
  expect((await get("/readyz")).status).toBe(200);
  expect(await (await get("/metrics")).text()).toContain('answers{service="test"} 42');
  expect((await get("/other")).status).toBe(404);
});

it("is not ready when the check hangs", async () => {
  await using server = await serveHealth({
    host: "127.0.0.1",
    port: 0,
    registry: createRegistry("test"),
    readyTimeoutMs: 20,
    ready: () => new Promise(() => {}),
  });
  expect((await fetch(`http://127.0.0.1:${server.port}/readyz`)).status).toBe(503);
});
