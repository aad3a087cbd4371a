// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { apiForFile, sandboxOf } from "../../tests/api-under-test.ts";

const t = apiForFile();

describe("POST /v1/sandboxes/{id}/fork", () => {
  it("gives all children in order, which inherit what the parent was given", async () => {
    const { ask } = await t().tenant();
    const made = await ask("POST", "/v1/templates", { name: "big", image: "registry.test/b", resources: { memory_mib: 512, vcpus: 2 } });
    const parent = await ask("POST", "/v1/sandboxes", {
      template: made.body.id,
      label: "p",
      labels: { run: "7" },
      egress: { mode: "none" },
    });
    const seed = "0f".repeat(32);
    const forked = await ask("POST", `/v1/sandboxes/${parent.body.id}/fork`, {
      count: 3,
      labels: ["a", "b", "c"],
      seeds: [seed, null, seed],
    });
    expect(forked).toMatchObject({ status: 201, body: { id: parent.body.id, parent: parent.body.id, fork_time_ms: 12, pause_ms: 3 } });
    const children: { id: string; label: string; parent_id: string; labels: unknown; resources: unknown; state: string }[] =
      forked.body.children;
    expect(children.map((child) => child.label)).toEqual(["a", "b", "c"]);
    for (const child of children) {
      expect(child).toMatchObject({
        parent_id: parent.body.id,
        group_id: forked.body.group_id,
        labels: { run: "7" },
        state: "running",
        resources: { memory_mib: 512, vcpus: 2 },
      });
    }
    const rows = await t().database.client.sandbox.findMany({ where: { parentId: parent.body.id }, orderBy: { ordinal: "asc" } });
    expect(rows.map((row) => row.id)).toEqual(children.map((child) => child.id));
    expect(rows.map((row) => row.seed)).toEqual([seed, null, seed]);
    expect(rows.map((row) => row.egress)).toEqual(Array.from({ length: 3 }, () => ({ mode: "none" })));
  });

  it("without labels keeps the parent's, and one child is the default", async () => {
    const { ask } = await t().tenant();
    const { sandbox } = await sandboxOf(ask);
    const forked = await ask("POST", `/v1/sandboxes/${sandbox}/fork`);
    expect(forked.body.children).toHaveLength(1);
  });

  it.each([
    ["labels", { count: 3, labels: ["a", "b"] }],
    ["seeds", { count: 2, seeds: [null] }],
    ["count", { count: 0 }],
  ])("400 names %s", async (field, body) => {
    const { ask } = await t().tenant();
    const { sandbox } = await sandboxOf(ask);
    const answer = await ask("POST", `/v1/sandboxes/${sandbox}/fork`, body);
    expect(answer).toMatchObject({ status: 400, body: { code: "bad_request", message: expect.stringMatching(new RegExp(`^${field}: `)) } });
  });

  it("400 over the tier's cap in one call", async () => {
    const { ask } = await t().tenant();
    const { sandbox } = await sandboxOf(ask);
    expect(await ask("POST", `/v1/sandboxes/${sandbox}/fork`, { count: 1025 })).toMatchObject({
      status: 400,
      body: { code: "bad_request", message: expect.stringContaining("1024") },
    });
  });

  it("keeps no child when one fails, and says why", async () => {
    const { ask, tenantId } = await t().tenant();
    const { sandbox } = await sandboxOf(ask);
    t().placement.answer = () => ({ code: "fork_failed", message: "child 2 of 4 did not start: no memory" });
    const answer = await ask("POST", `/v1/sandboxes/${sandbox}/fork`, { count: 4 });
    t().placement.answer = () => undefined;
    expect(answer).toMatchObject({ status: 500, body: { code: "fork_failed", message: "child 2 of 4 did not start: no memory" } });
    const left = await ask("GET", "/v1/sandboxes");
    expect(left.body.sandboxes.map((row: { id: string }) => row.id)).toEqual([sandbox]);
    expect(await t().database.client.sandbox.count({ where: { tenantId, state: { not: "deleted" } } })).toBe(1);
  });

  it("404 for another tenant's sandbox, just as for none", async () => {
    const owner = await t().tenant();
    const { sandbox } = await sandboxOf(owner.ask);
    const { ask } = await t().tenant();
    for (const id of [sandbox, "sb_none"]) {
      expect(await ask("POST", `/v1/sandboxes/${id}/fork`, { count: 1 })).toMatchObject({
        status: 404,
        body: { code: "not_found", message: `no sandbox ${id}` },
      });
    }
  });

  it("wakes a suspended parent first", async () => {
    const { ask } = await t().tenant();
    const { sandbox } = await sandboxOf(ask);
    await ask("POST", `/v1/sandboxes/${sandbox}/suspend`, {});
    expect((await ask("POST", `/v1/sandboxes/${sandbox}/fork`, { count: 2 })).body.children).toHaveLength(2);
    expect((await ask("GET", `/v1/sandboxes/${sandbox}`)).body.state).toBe("running");
  });
});
