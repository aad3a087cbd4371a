// SPDX-License-Identifier: Apache-2.0
/** The second skin: same services, same errors. */
import { createTRPCClient, httpBatchLink } from "@trpc/client";
import { describe, expect, it } from "vitest";
import { ADMIN_TOKEN, apiForFile } from "../../tests/api-under-test.ts";
import type { AppRouter } from "./router.ts";

const t = apiForFile();

function client(token: string | undefined) {
  return createTRPCClient<AppRouter>({
    links: [httpBatchLink({ url: `${t().api.url}/trpc`, headers: token ? { authorization: `Bearer ${token}` } : {} })],
  });
}

describe("tRPC", () => {
  it("goes the whole way from tenant to usage", async () => {
    const admin = client(ADMIN_TOKEN);
    const { tenantId } = await admin.admin.createTenant.mutate({ name: "by trpc", tier: "pro" });
    const { apiKey } = await admin.admin.createKey.mutate({ tenantId, name: "second" });
    const mine = client(apiKey);
    const template = await mine.templates.create.mutate({ name: "py", image: "registry.test/py", pool: { width: 2 } });
    const sandbox = await mine.sandboxes.create.mutate({ template: template.id });
    const forked = await mine.sandboxes.fork.mutate({ id: sandbox.id, count: 2 });
    expect(forked.children.map((child) => child.state)).toEqual(["running", "running"]);
    expect((await mine.sandboxes.suspend.mutate({ id: sandbox.id })).state).toBe("suspended");
    expect((await mine.sandboxes.resume.mutate({ id: sandbox.id })).state).toBe("running");
    expect(await mine.sandboxes.delete.mutate({ id: sandbox.id })).toMatchObject({ deleted: true });
    expect(await mine.sandboxes.list.query()).toHaveLength(2);
    expect((await mine.usage.query()).totals.sandboxes).toBe(3);
    expect((await admin.admin.tenants.query()).find((row) => row.id === tenantId)?.keys.map((key) => key.name)).toEqual([
      "first",
      "second",
    ]);
    expect(await client(undefined).health.query()).toMatchObject({ status: "ok" });
  });

  it("has the catalogue's errors, with the status and the REST body", async () => {
    const { apiKey } = await t().tenant();
    await expect(client(apiKey).sandboxes.get.query({ id: "sb_none" })).rejects.toMatchObject({
      message: "no sandbox sb_none",
      data: { code: "NOT_FOUND", httpStatus: 404, collimate: { code: "not_found", error: "no sandbox sb_none", retryable: false } },
    });
    await expect(client(undefined).sandboxes.list.query()).rejects.toMatchObject({
      data: { httpStatus: 401, collimate: { code: "unauthorized" } },
    });
    await expect(client(apiKey).admin.tenants.query()).rejects.toMatchObject({ data: { httpStatus: 401 } });
    await expect(client(apiKey).sandboxes.fork.mutate({ id: "sb_x", count: 0 })).rejects.toMatchObject({
      data: { httpStatus: 400, collimate: { code: "bad_request" } },
    });
  });

  it("never shows a stack", async () => {
    await expect(client(undefined).sandboxes.list.query()).rejects.toSatisfy((error: unknown) => !JSON.stringify(error).includes("/src/"));
  });
});
