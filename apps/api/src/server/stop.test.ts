// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { askWith, sandboxOf, startApiUnderTest } from "../../tests/api-under-test.ts";
import { EXIT, send } from "../../tests/exec-peer.ts";
import { rawConnection } from "../../tests/raw-http.ts";

describe("a server that stops", () => {
  it("lets a running exec end, closes that connection, and takes no new one", async () => {
    await using t = await startApiUnderTest();
    const { ask, apiKey } = await t.tenant();
    const { sandbox } = await sandboxOf(ask);
    const running = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    t.peer.script = async (_request, response) => {
      running.resolve();
      await finish.promise;
      send(response, EXIT);
      response.end();
    };
    await using raw = await rawConnection(t.api.url);
    const answer = raw.ask(
      `POST /v1/sandboxes/${sandbox}/exec HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"command":"x"}`,
    );
    await running.promise;
    const stopped = t.api.stop();
    finish.resolve();
    const { head, body } = await answer;
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(head).toMatch(/connection: close/i);
    expect(JSON.parse(body)).toMatchObject({ exit_code: 0 });
    await stopped;
    await expect(askWith(t.api.url, apiKey)("GET", "/v1/templates")).rejects.toThrow(/fetch failed/);
  });

  it("tells held creates at once that nothing was made, and nothing is left of them", async () => {
    await using t = await startApiUnderTest({ holdMs: 100_000 });
    const { ask, tenantId } = await t.tenant();
    const { template } = await sandboxOf(ask);
    t.placement.answer = (operation) => (operation.kind === "create" ? "leave" : undefined);
    const creating = ask("POST", "/v1/sandboxes", { template });
    await once(t.placement.dealt, "create");
    const began = performance.now();
    await t.api.stop();
    expect(await creating).toMatchObject({ status: 503, body: { code: "at_capacity", retryable: true } });
    expect(performance.now() - began).toBeLessThan(50_000);
    expect(await t.database.client.sandbox.count({ where: { tenantId, state: "requested" } })).toBe(0);
  });

  it("cuts what does not end within the drain time", async () => {
    await using t = await startApiUnderTest({ drainMs: 100 });
    const { ask } = await t.tenant();
    const { sandbox } = await sandboxOf(ask);
    const running = Promise.withResolvers<void>();
    t.peer.script = () => running.resolve();
    const exec = ask("POST", `/v1/sandboxes/${sandbox}/exec`, { command: "x" }).then(
      () => "answered",
      () => "cut",
    );
    await running.promise;
    await t.api.stop();
    expect(await exec).toBe("cut");
  });
});
