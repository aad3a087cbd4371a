// SPDX-License-Identifier: Apache-2.0
import { beforeAll, describe, expect, it } from "vitest";
import { apiForFile, sandboxOf } from "../../tests/api-under-test.ts";
import { EXIT, send } from "../../tests/exec-peer.ts";

const t = apiForFile({ earlyReplyMs: 300, blankMs: 100 });
let sandbox: string;
let apiKey: string;
beforeAll(async () => {
  const tenant = await t().tenant();
  apiKey = tenant.apiKey;
  ({ sandbox } = await sandboxOf(tenant.ask));
});

describe("a long exec", () => {
  it("gets its headers early and blanks meanwhile, then the whole reply", async () => {
    const finish = Promise.withResolvers<void>();
    t().peer.script = async (_request, response) => {
      send(response, { t: "o", d: Buffer.from("late").toString("base64") });
      send(response, { t: "k" });
      await finish.promise;
      send(response, EXIT);
      response.end();
    };
    const response = await fetch(`${t().api.url}/v1/sandboxes/${sandbox}/exec`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: '{"command":"x"}',
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain("application/json");
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
    const early = [await reader.read(), await reader.read()].map((part) => Buffer.from(part.value ?? []).toString());
    expect(early.join("").trim()).toBe("");
    expect(early.join("").length).toBeGreaterThanOrEqual(2);
    finish.resolve();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) rest += Buffer.from(part.value).toString();
    expect(JSON.parse(rest)).toMatchObject({ stdout: "late", exit_code: 0 });
    t().peer.script = undefined;
  });

  it("that fails after that breaks the connection: nothing that could be read as exit code 0", async () => {
    const fail = Promise.withResolvers<void>();
    t().peer.script = async (_request, response) => {
      await fail.promise;
      response.destroy();
    };
    const response = await fetch(`${t().api.url}/v1/sandboxes/${sandbox}/exec`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: '{"command":"x"}',
    });
    expect(response.status).toBe(200);
    fail.resolve();
    await expect(response.text()).rejects.toThrow(/terminated/);
    t().peer.script = undefined;
  });
});
