// SPDX-License-Identifier: Apache-2.0
import { newId } from "@collimate/contracts";
import { describe, expect, it } from "vitest";
import { apiForFile, sandboxOf } from "../../tests/api-under-test.ts";
import { costMicros, usageWindow } from "./service.ts";

const t = apiForFile();
const T0 = Date.UTC(2026, 0, 1);
const at = (ms: number) => new Date(T0 + ms);
const query = (from: number, to: number) =>
  `/v1/usage?from=${encodeURIComponent(at(from).toISOString())}&to=${encodeURIComponent(at(to).toISOString())}`;

async function tenantWith(intervals: { from: number; to: number | null; vcpus?: number; mib?: number }[]) {
  const tenant = await t().tenant();
  const { sandbox } = await sandboxOf(tenant.ask);
  await t().database.client.meterInterval.deleteMany({ where: { tenantId: tenant.tenantId } });
  for (const { from, to, vcpus = 1, mib = 1024 } of intervals) {
    await t().database.client.meterInterval.create({
      data: {
        id: newId("exec"),
        tenantId: tenant.tenantId,
        sandboxId: sandbox,
        startedAt: at(from),
        endedAt: to === null ? null : at(to),
        vcpus,
        memoryMib: mib,
      },
    });
  }
  return tenant;
}

describe("GET /v1/usage", () => {
  it("is exact to the millisecond, with the cost in whole millionths", async () => {
    const { ask } = await tenantWith([
      { from: 0, to: 10_001, vcpus: 2, mib: 512 },
      { from: 20_000, to: 20_500, vcpus: 0.5, mib: 2048 },
    ]);
    const answer = await ask("GET", query(0, 60_000));
    expect(answer).toMatchObject({ status: 200, body: { from: at(0).toISOString(), to: at(60_000).toISOString() } });
    expect(answer.body.totals).toEqual({
      sandboxes: 1,
      live_seconds: 10.501,
      vcpu_seconds: 20.252,
      memory_gib_seconds: 6.0005,
      cost_micros: 215,
    });
  });
  it("cuts intervals to the window, and windows that meet add up", async () => {
    const { ask } = await tenantWith([{ from: 0, to: 10_000 }]);
    const parts = await Promise.all([
      ask("GET", query(-5_000, 3_333)),
      ask("GET", query(3_333, 7_000)),
      ask("GET", query(7_000, 99_000)),
      ask("GET", query(10_000, 20_000)),
    ]);
    expect(parts.map((part) => part.body.totals.vcpu_seconds)).toEqual([3.333, 3.667, 3, 0]);
  });
  it("counts an open interval until now and never into the future", async () => {
    const { ask, tenantId } = await tenantWith([]);
    const [row] = await t().database.client.sandbox.findMany({ where: { tenantId } });
    await t().database.client.meterInterval.create({
      data: { id: newId("exec"), tenantId, sandboxId: row?.id ?? "", startedAt: new Date(Date.now() - 5_000), vcpus: 1, memoryMib: 1024 },
    });
    const future = encodeURIComponent(new Date(Date.now() + 3_600_000).toISOString());
    const { body } = await ask("GET", `/v1/usage?to=${future}`);
    expect(body.totals.live_seconds).toBeGreaterThanOrEqual(5);
    expect(body.totals.live_seconds).toBeLessThan(15);
  });
  it("grows only while the sandbox lives", async () => {
    const { ask } = await t().tenant();
    const { sandbox } = await sandboxOf(ask);
    await ask("DELETE", `/v1/sandboxes/${sandbox}`);
    const first = await ask("GET", "/v1/usage");
    const second = await ask("GET", "/v1/usage");
    expect(first.body.totals).toMatchObject({ sandboxes: 1 });
    expect(second.body.totals).toEqual(first.body.totals);
  });
  it("is the caller's own", async () => {
    await tenantWith([{ from: 0, to: 10_000 }]);
    const { ask } = await t().tenant();
    expect((await ask("GET", query(0, 60_000))).body.totals).toEqual({
      sandboxes: 0,
      live_seconds: 0,
      vcpu_seconds: 0,
      memory_gib_seconds: 0,
      cost_micros: 0,
    });
  });
  it("400 names the field", async () => {
    const { ask } = await t().tenant();
    expect(await ask("GET", "/v1/usage?from=yesterday")).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/^from: /) },
    });
    expect(await ask("GET", query(2, 1))).toMatchObject({ status: 400, body: { message: "from: is later than to" } });
  });
});

describe("the arithmetic", () => {
  it("rounds a cost once", () => {
    expect(costMicros({ sandboxes: 1, liveMs: 0, vcpuMs: 1_499, mibMs: 1_024 }, { vcpuSecondMicros: 1, gibSecondMicros: 0 })).toBe(1);
    expect(costMicros({ sandboxes: 1, liveMs: 0, vcpuMs: 0, mibMs: 3_600_000 * 4_096 }, { vcpuSecondMicros: 1, gibSecondMicros: 5 })).toBe(
      72_000,
    );
  });
  it("looks back 30 days unless told", () => {
    const now = new Date(T0);
    expect(usageWindow({}, now)).toEqual({ from: new Date(T0 - 30 * 86_400_000), to: now });
  });
});
