// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freePort } from "./port.ts";
import { POLITE_STOP } from "./process/stop.ts";
import { startService, withFreePort } from "./service.ts";
import type { ServicePlan } from "./service.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "collimate-test-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Another program's server: it answers on a port that a service of ours wanted. */
async function stranger() {
  const server = createServer((_, reply) => reply.end("ok"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    port: address.port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function plan(port: number, program: string): ServicePlan {
  const url = `http://127.0.0.1:${port}`;
  const source = `const port = ${port}; ${program}`;
  return {
    name: "thing",
    url,
    port,
    spec: { argv: [process.execPath, "--eval", source], cwd: "/", env: {} },
    stopSteps: POLITE_STOP,
    probe: async () => void (await (await fetch(url)).text()),
  };
}

const SERVE = 'require("node:http").createServer((_, reply) => reply.end("ok")).listen(port, "127.0.0.1");';

test("another program's answer on the port does not make a service ready", async () => {
  await using other = await stranger();
  const start = startService(plan(other.port, "setInterval(() => {}, 1000);"), { dir, deadlineMs: 500 });
  await expect(start).rejects.toThrow(`thing was not ready within 0.5 s (Error: port ${other.port} is served by another process)`);
});

test("a service that loses its port to another program gets the next one", async () => {
  await using other = await stranger();
  const ports = [other.port, await freePort()];
  await using service = await withFreePort(
    undefined,
    async () => ports.shift() ?? 0,
    (port) => startService(plan(port, SERVE), { dir }),
  );
  expect(ports).toEqual([]);
  expect(service.port).not.toBe(other.port);
  expect(await (await fetch(service.url)).text()).toBe("ok");
});
