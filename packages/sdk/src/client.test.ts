// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { KEY, send, WireServer } from "../tests/wire-server.ts";
import { connect } from "./connection/connect.ts";

it("usage is asked for in a window and told in this language's words", async () => {
  await using server = await WireServer.start();
  await using client = await connect({ url: server.url, apiKey: KEY, env: {} });
  const usage = await client.usage({ from: new Date("2026-01-02T03:04:05Z") });
  expect(usage).toMatchObject({
    from: "2026-01-02T03:04:05.000Z",
    vcpuSeconds: 10.5,
    liveSeconds: 10,
    memoryGibSeconds: 40,
    costMicros: 7,
  });
});

it("a path in the address is kept", async () => {
  await using server = await WireServer.start();
  await using client = await connect({ url: `${server.url}/prefix/`, apiKey: KEY, env: {} });
  server.fail("GET /prefix/v1/health$", (_request, response) => {
    send(response, 200, { status: "ok" });
    return true;
  });
  expect(await client.health()).toEqual({ status: "ok" });
});

it("ids are encoded in paths", async () => {
  await using server = await WireServer.start();
  await using client = await connect({ url: server.url, apiKey: KEY, env: {} });
  await expect(client.getTemplate("../usage?x=#y")).rejects.toMatchObject({ code: "not_found" });
  expect(server.seen[0]?.path).toBe("/v1/templates/..%2Fusage%3Fx%3D%23y");
});
