// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import {
  API_KEY,
  CollimateError,
  type Egress,
  errorBody,
  ERRORS,
  execRequestSchema,
  idSchema,
  isUnrestricted,
  newId,
  next,
  SANDBOX_MACHINE,
  sandboxStateSchema,
  sources,
  target,
  TEMPLATE_MACHINE,
  TIER_LIMITS,
} from "./index.ts";

describe("errors", () => {
  it("carry the strings that every published client reads", () => {
    const body = errorBody(new CollimateError("not_found", "no sandbox sb_1"), "req_1", "daemon");
    expect(body).toMatchObject({
      code: "not_found",
      message: "no sandbox sb_1",
      error: "no sandbox sb_1",
      error_code: "no_such_session",
      retryable: false,
    });
  });
  it("survive the journey between services", () => {
    const error = CollimateError.fromFailure(
      new CollimateError("bake_failed", "ready command gave 3", { detail: "x".repeat(20_000) }).toFailure(),
    );
    expect(error.status).toBe(ERRORS.bake_failed.status);
    expect(error.detail).toHaveLength(16_000);
  });
});

describe("egress", () => {
  const open: (Egress | null)[] = [null, {}, { mode: "open" }];
  const bounded: Egress[] = [{ mode: "none" }, { mode: "denylist" }, { allow: [] }, { deny: ["x"] }, { preset: "rl-leakage" }];
  it.each(open)("is open by %o", (egress) => expect(isUnrestricted(egress)).toBe(true));
  it.each(bounded)("is bounded by %o", (egress) => expect(isUnrestricted(egress)).toBe(false));
});

describe("ids and keys", () => {
  it("need no escaping in a path", () => {
    for (let i = 0; i < 100; i++) expect(idSchema.safeParse(newId("sandbox")).success).toBe(true);
    expect(idSchema.safeParse("../etc").success).toBe(false);
  });
  it("have a tier that published clients know", () => {
    expect(API_KEY.exec(`col_pro_abcdefgh_${"0".repeat(32)}`)?.[1]).toBe("pro");
    expect(API_KEY.test(`col_live_abcdefgh_${"0".repeat(32)}`)).toBe(false);
  });
  it("allow at least what published clients fork in one call", () => {
    expect(TIER_LIMITS.demo.forkPerCall).toBeGreaterThanOrEqual(4);
    expect(TIER_LIMITS.pro.forkPerCall).toBeGreaterThanOrEqual(32);
    expect(TIER_LIMITS.ent.forkPerCall).toBeGreaterThanOrEqual(64);
  });
});

describe("state machines", () => {
  it("refuse what the table does not list", () => {
    expect(() => next(SANDBOX_MACHINE, "deleted", "resume")).toThrowError(/resume while deleted/);
    expect(next(SANDBOX_MACHINE, "running", "suspend")).toBe("suspending");
    expect(sources(TEMPLATE_MACHINE, "live")).toContain("Distributing");
  });
  it("have one target for each event, so that a compare-and-set can be written in one step", () => {
    for (const { event, to } of SANDBOX_MACHINE) expect(target(SANDBOX_MACHINE, event)).toBe(to);
    for (const { event, to } of TEMPLATE_MACHINE) expect(target(TEMPLATE_MACHINE, event)).toBe(to);
  });
  it("lead out of every state but deleted", () => {
    for (const state of sandboxStateSchema.options) expect(SANDBOX_MACHINE.some((t) => t.from.includes(state))).toBe(state !== "deleted");
  });
});

describe("exec requests", () => {
  it("need something to do, and files alone are something", () => {
    expect(execRequestSchema.safeParse({ timeout_seconds: 3 }).success).toBe(false);
    expect(execRequestSchema.safeParse({ files: [{ path: "/a", content: "" }] }).success).toBe(true);
  });
});
