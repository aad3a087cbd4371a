// SPDX-License-Identifier: Apache-2.0
import { API_KEY } from "@collimate/contracts";
import { describe, expect, it } from "vitest";
import { ADMIN_TOKEN, apiForFile, askWith } from "../../tests/api-under-test.ts";
import { Authenticator } from "./authenticate.ts";
import { bearer, newKey, sameSecret } from "./key.ts";

const t = apiForFile();
const admin = () => askWith(t().api.url, ADMIN_TOKEN);

describe("POST /internal/tenants", () => {
  it("makes a tenant with a key that works at once, and keeps only the key's hash", async () => {
    const made = await admin()("POST", "/internal/tenants", { name: "first", tier: "pro" });
    expect(made).toMatchObject({ status: 201, body: { tenantId: expect.stringMatching(/^ten_/), apiKey: expect.stringMatching(API_KEY) } });
    expect((await askWith(t().api.url, made.body.apiKey)("GET", "/v1/templates")).status).toBe(200);
    const rows = await t().database.client.apiKey.findMany({ where: { tenantId: made.body.tenantId } });
    expect(JSON.stringify(rows)).not.toContain(made.body.apiKey.split("_")[3]);
  });
  it("is the administrator's alone", async () => {
    const { apiKey } = await t().tenant("ent");
    for (const token of [undefined, apiKey, `${ADMIN_TOKEN}x`]) {
      expect(await askWith(t().api.url, token)("POST", "/internal/tenants", { name: "x", tier: "pro" })).toMatchObject({
        status: 401,
        body: { code: "unauthorized" },
      });
    }
    expect((await askWith(t().api.url, ADMIN_TOKEN)("GET", "/v1/templates")).status).toBe(401);
  });
  it("names what is wrong", async () => {
    expect(await admin()("POST", "/internal/tenants", { name: "x", tier: "gold" })).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/^tier: /) },
    });
  });
});

describe("a key", () => {
  it("is dead within a second of being revoked, and after its time", async () => {
    const { ask, tenantId } = await t().tenant();
    expect((await ask("GET", "/v1/templates")).status).toBe(200);
    const [row] = await t().database.client.apiKey.findMany({ where: { tenantId } });
    await t().api.services.tenants.revokeKey(row?.id ?? "");
    await expect.poll(async () => (await ask("GET", "/v1/templates")).status).toBe(401);
    const expired = await t().api.services.tenants.createKey(tenantId, "old", new Date(Date.now() - 1));
    expect((await askWith(t().api.url, expired.apiKey)("GET", "/v1/templates")).status).toBe(401);
  });
  it("is looked up once for many requests at once, and wrong ones are not remembered", async () => {
    const { tenantId } = await t().tenant();
    let looked = 0;
    const { client } = t().database;
    const counting = client.$extends({
      query: {
        apiKey: {
          findUnique: ({ args, query }) => {
            looked++;
            return query(args);
          },
        },
      },
    });
    // The extended client has the same methods; its type says so in other words.
    const authenticator = new Authenticator(counting as unknown as typeof client);
    const { apiKey } = await t().api.services.tenants.createKey(tenantId, "n", null);
    const callers = await Promise.all(Array.from({ length: 20 }, () => authenticator.require(`Bearer ${apiKey}`)));
    expect(new Set(callers.map((caller) => caller.tenantId))).toEqual(new Set([tenantId]));
    expect(looked).toBe(1);
    const fresh = newKey("pro");
    await expect(authenticator.require(`Bearer ${fresh.key}`)).rejects.toMatchObject({ code: "unauthorized" });
    await client.apiKey.create({ data: { id: fresh.id, tenantId, hash: fresh.hash } });
    expect((await authenticator.require(`Bearer ${fresh.key}`)).keyId).toBe(fresh.id);
  });
  it("has the published format, in every tier", () => {
    for (const tier of ["demo", "pro", "ent"] as const) expect(API_KEY.exec(newKey(tier).key)?.[1]).toBe(tier);
    expect(new Set(Array.from({ length: 100 }, () => newKey("pro").key)).size).toBe(100);
  });
  it("is read from the header whatever the case of its scheme", () => {
    expect([bearer("bearer  abc"), bearer("Basic abc"), bearer("Bearer"), bearer(undefined), bearer("Bearer a b")]).toEqual([
      "abc",
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect([sameSecret("a", "a"), sameSecret("a", "ab")]).toEqual([true, false]);
  });
});
