// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KEY, WireServer } from "../../tests/wire-server.ts";
import type { Client } from "../client.ts";
import { connect } from "../connection/connect.ts";
import { BakeFailedError, ConfigurationError, DeadlineError, NotFoundError } from "../errors.ts";
import { Template } from "./template.ts";

let server: WireServer;
let client: Client;
beforeEach(async () => {
  server = await WireServer.start();
  client = await connect({ url: server.url, apiKey: KEY, env: {}, retries: 1 });
});
afterEach(() => server[Symbol.asyncDispose]());

const IMAGE = "registry/python@sha256:1";
/** Changes the template before the answer to the next look at it. */
function atNextLook(id: string, change: (status: NonNullable<ReturnType<WireServer["templates"]["get"]>>) => void): void {
  server.fail(`GET /v1/templates/${id}$`, () => {
    const status = server.templates.get(id);
    if (status) change(status);
    return false;
  });
}

describe("a bake", () => {
  it("asks for what was said", async () => {
    const ready = { cmd: "python -c 'import torch'", env: { A: "ready" } };
    await Template.bake(client, {
      name: "swe",
      image: IMAGE,
      ready,
      width: 64,
      env: { A: "bake", B: "2" },
      resources: { memory_mib: 512 },
    });
    expect(server.requests("POST /v1/templates$")[0]?.body).toEqual({
      name: "swe",
      image: IMAGE,
      pool: { width: 64 },
      ready: { cmd: "python -c 'import torch'", env: { A: "ready", B: "2" } },
      resources: { memory_mib: 512 },
    });
  });

  it("is waited for through its phases", async () => {
    const handle = await Template.bake(client, { name: "swe", image: IMAGE });
    const phases: string[] = [];
    atNextLook(handle.id, (status) => (status.phase = "Converting"));
    const done = handle.wait({
      onUpdate: (status) => {
        phases.push(status.phase);
        atNextLook(handle.id, (next) => Object.assign(next, { phase: "Live", converge_state: "converged" }));
      },
    });
    expect(await done).toMatchObject({ phase: "Live", convergeState: "converged", resources: { memory_mib: 4096 } });
    expect(phases).toEqual(["Converting", "Live"]);
  });

  it("that fails ends the wait with the build error", async () => {
    const handle = await Template.bake(client, { name: "swe", image: IMAGE });
    atNextLook(handle.id, (status) => Object.assign(status, { phase: "Failed", error: "ready command gave 3", error_code: "bake_failed" }));
    const error: unknown = await handle.wait().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BakeFailedError);
    expect(error).toMatchObject({
      message: expect.stringContaining("ready command gave 3"),
      template: { phase: "Failed", errorCode: "bake_failed" },
    });
  });

  it("that is deleted ends the wait", async () => {
    const handle = await Template.bake(client, { name: "swe", image: IMAGE });
    await client.deleteTemplate(handle.id);
    await expect(handle.wait()).rejects.toThrowError(/was deleted/);
  });

  it("that takes too long says how far it is", async () => {
    const handle = await Template.bake(client, { name: "swe", image: IMAGE });
    const error: unknown = await handle.wait({ timeoutMs: 20 }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(DeadlineError);
    expect(String(error)).toContain("Pending after 20 ms");
  });

  it("is no longer waited for when the caller stops", async () => {
    const handle = await Template.bake(client, { name: "swe", image: IMAGE });
    const stop = new AbortController();
    const wait = handle.wait({
      signal: stop.signal,
      onUpdate: () => {
        stop.abort(new Error("enough"));
      },
    });
    await expect(wait).rejects.toThrowError("enough");
  });

  it("can be found again by name", async () => {
    const handle = await Template.bake(client, { name: "swe", image: IMAGE });
    expect((await Template.attach(client, "swe")).id).toBe(handle.id);
  });
});

describe("an env", () => {
  it("of an own template by name declares its width and releases it once", async () => {
    const template = server.addTemplate({ name: "swe-rollout" });
    {
      await using env = await client.env("swe-rollout", { width: 64 });
      expect(env.id).toBe(template.id);
      await using session = await env.sandbox();
      expect(session.sandbox.templateId).toBe(template.id);
      await env.release();
    }
    expect(server.requests("expect$").map((request) => request.body)).toEqual([{ width: 64 }]);
    expect(server.requests("release$")).toHaveLength(1);
  });

  it("of a catalog image declares nothing", async () => {
    const image = server.addTemplate({ name: "python", visibility: "public" });
    await using env = await client.env("python", { width: 8 });
    expect(env.id).toBe(image.id);
    expect(server.requests("expect$|POST /v1/templates$")).toEqual([]);
  });

  it("of a catalog image with another ready check is a bake of its own", async () => {
    const image = server.addTemplate({ name: "python", visibility: "public", image: IMAGE });
    await using env = await client.env("python", { name: "mine", ready: { cmd: "true" }, env: { A: "1" }, width: 4 });
    expect(env.id).not.toBe(image.id);
    expect(server.requests("POST /v1/templates$")[0]?.body).toEqual({
      name: "mine",
      image: IMAGE,
      pool: { width: 4 },
      ready: { cmd: "true", env: { A: "1" } },
    });
  });

  it("of an own template with another ready check is refused, not ignored", async () => {
    server.addTemplate({ name: "swe" });
    await expect(client.env("swe", { ready: { cmd: "true" } })).rejects.toBeInstanceOf(ConfigurationError);
  });

  it("prefers an id to a name", async () => {
    const byId = server.addTemplate({ visibility: "public" });
    server.addTemplate({ visibility: "public", name: byId.id });
    expect((await client.env(byId.id)).id).toBe(byId.id);
  });

  it("of something unknown is not found", async () => {
    await expect(client.env("nothing")).rejects.toBeInstanceOf(NotFoundError);
  });
});
