// SPDX-License-Identifier: Apache-2.0
/** Our own TypeScript client, against the whole api. */
import { BakeFailedError, type Client, connect, type ConnectOptions, NotFoundError, Template } from "@collimate/sdk";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { apiForFile } from "./api-under-test.ts";

const t = apiForFile();

const clientWith = (apiKey: string, options: ConnectOptions = {}): Promise<Client> =>
  connect({ url: t().api.url, apiKey, env: {}, patienceMs: 10_000, ...options });
const newClient = async (): Promise<Client> => clientWith((await t().tenant()).apiKey);

describe("@collimate/sdk", () => {
  it("does all that a trainer does", async () => {
    await using client = await newClient();
    const handle = await Template.bake(client, {
      name: "swe-rollout",
      image: "registry.test/py@sha256:1",
      ready: { cmd: "true" },
      width: 8,
    });
    expect(await handle.wait()).toMatchObject({ phase: "Live", convergeState: "converged", declared: 8 });
    {
      await using env = await client.env("swe-rollout", { width: 16 });
      await using session = await env.sandbox({ label: "run 7", timeoutSeconds: 10 });
      expect(session.sandbox).toMatchObject({ templateId: handle.id, label: "run 7", state: "running" });
      const result = await session.exec({ command: "echo out; echo err >&2; exit 3" });
      expect(result).toMatchObject({ stdout: "out\n", stderr: "err\n", exitCode: 3, ok: false, timedOut: false });
      const listed = await session.exec({
        commands: [
          ["echo", "a b"],
          ["sh", "-c", "exit 2"],
          ["echo", "never"],
        ],
      });
      expect(listed).toMatchObject({ stdout: "a b\n", exitCode: 2, results: [{ exitCode: 0 }, { exitCode: 2 }] });
      await using group = await session.fork(40, { labels: Array.from({ length: 40 }, (_, index) => `child ${index}`) });
      expect(new Set(group.children.map((child) => child.id)).size).toBe(40);
      expect(group.children[39]?.sandbox).toMatchObject({ parentId: session.id, groupId: group.groupId, label: "child 39" });
      const codes = await group.map(async (child, index) => (await child.exec({ command: `exit ${index}` })).exitCode);
      expect(codes).toEqual(Array.from({ length: 40 }, (_, index) => index));
      expect(await client.listSandboxes()).toHaveLength(41);
    }
    expect(await client.listSandboxes()).toEqual([]);
    expect((await client.usage()).liveSeconds).toBeGreaterThan(0);
    await client.deleteTemplate(handle.id);
    await expect(handle.status()).rejects.toBeInstanceOf(NotFoundError);
  });

  it("is told at once that a bake failed, and why", async () => {
    t().placement.answer = () => ({ code: "bake_failed", message: "the ready command gave 3", detail: "last words" });
    await using client = await newClient();
    const handle = await Template.bake(client, { name: "bad", image: "registry.test/bad" });
    const error: unknown = await handle.wait().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BakeFailedError);
    expect(error).toMatchObject({
      message: expect.stringContaining("last words"),
      template: { phase: "Failed", errorCode: "bake_failed" },
    });
  });

  it("gets one sandbox, although its first request was cut off while it was held", async () => {
    const { apiKey } = await t().tenant();
    await using client = await clientWith(apiKey);
    const handle = await Template.bake(client, { name: "slow", image: "registry.test/slow" });
    await handle.wait();
    t().placement.answer = (operation) => (operation.kind === "create" ? "leave" : undefined);
    const dealt = once(t().placement.dealt, "create");
    // The first try's connection is cut once its operation is under way.
    const cut = new AbortController();
    let tries = 0;
    const keys = new Set<string | null>();
    const cutting: typeof fetch = (input, init) => {
      const creating = init?.method === "POST" && typeof input === "string" && input.endsWith("/v1/sandboxes");
      if (!creating) return fetch(input, init);
      keys.add(new Headers(init.headers).get("idempotency-key"));
      if (tries++ > 0) return fetch(input, init);
      return fetch(input, { ...init, signal: cut.signal }).catch(() => Promise.reject(new TypeError("fetch failed")));
    };
    const fragile = await clientWith(apiKey, { fetch: cutting });
    const opening = fragile.session(handle);
    await dealt;
    cut.abort();
    await t().placement.finish(
      t().placement.seen.findLast((operation) => operation.kind === "create") ?? expect.fail("no create was seen"),
    );
    await using session = await opening;
    expect(keys.size).toBe(1);
    expect((await client.listSandboxes()).map((sandbox) => sandbox.id)).toEqual([session.id]);
  });
});
