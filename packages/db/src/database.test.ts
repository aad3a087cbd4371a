// SPDX-License-Identifier: Apache-2.0
import { freshDatabase } from "@collimate/testing";
import { describe, expect, it } from "vitest";
import { migrate, openDatabase } from "./index.ts";

describe("a database", () => {
  it("ends a statement that runs too long", async () => {
    await using db = openDatabase(await freshDatabase(), { statementTimeoutMs: 50 });
    await expect(db.client.$queryRaw`SELECT 1::int AS one FROM pg_sleep(20)`).rejects.toThrow(/statement timeout/);
  });

  it("gives a named lock to one at a time, and to the next when the first is done", async () => {
    const url = await freshDatabase();
    await using one = openDatabase(url);
    await using two = openDatabase(url);
    const answers = await one.withLock("sweep", async () => [
      await two.withLock("sweep", async () => "both"),
      await two.withLock("other", async () => "apart"),
    ]);
    expect(answers).toEqual([undefined, "apart"]);
    await expect(one.withLock("sweep", async () => Promise.reject(new Error("boom")))).rejects.toThrow("boom");
    expect(await two.withLock("sweep", async () => "next")).toBe("next");
  });

  it("keeps times to the millisecond and refuses words that no state machine has", async () => {
    const url = await freshDatabase();
    await migrate(url);
    await using db = openDatabase(url);
    const createdAt = new Date("2026-01-02T03:04:05.678Z");
    await db.client.tenant.create({ data: { id: "ten_1", name: "one", tier: "pro", createdAt } });
    expect((await db.client.tenant.findUniqueOrThrow({ where: { id: "ten_1" } })).createdAt).toEqual(createdAt);
    await expect(db.client.tenant.create({ data: { id: "ten_2", name: "two", tier: "gold" } })).rejects.toThrow(/tenants_tier_check/);
  });

  it("holds at most one open meter interval for a sandbox", async () => {
    const url = await freshDatabase();
    await migrate(url);
    await using db = openDatabase(url);
    await db.client.tenant.create({ data: { id: "ten_1", name: "one", tier: "pro" } });
    await db.client.template.create({ data: { id: "tpl_1", tenantId: "ten_1", name: "t", image: "i", spec: {}, specHash: "h" } });
    await db.client.sandbox.create({ data: { id: "sb_1", tenantId: "ten_1", templateId: "tpl_1", resources: {} } });
    const interval = { tenantId: "ten_1", sandboxId: "sb_1", startedAt: new Date(1_000), vcpus: 1, memoryMib: 64 };
    await db.client.meterInterval.create({ data: { id: "1", ...interval } });
    await expect(db.client.meterInterval.create({ data: { id: "2", ...interval } })).rejects.toThrow(/[Uu]nique constraint/);
    await db.client.meterInterval.update({ where: { id: "1" }, data: { endedAt: new Date(2_000) } });
    await db.client.meterInterval.create({ data: { id: "2", ...interval } });
  });
});
