// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { DETERMINISTIC_SEED, freshSeed, groupSeeds, isSeed, seedFromKey } from "./seed.ts";

describe("seeds", () => {
  // Test vectors of the published Python client: both must derive the same seed from the same key.
  it.each([
    ["k", "", "f6dc1034b093dd79d1b96f328cb1e489ff00868c9a1fdb2f1f929e5bf31f9e51"],
    ["ds:1", "s", "f53797967c9e065062ed1e03e1324a6eae757f2b81bcce10fdd07f01d8a3cd5b"],
  ])("of key %s and salt %j are those of every client", async (key, salt, seed) => {
    expect(await seedFromKey(key, salt)).toBe(seed);
  });

  it("are drawn anew each time", () => {
    expect(isSeed(freshSeed())).toBe(true);
    expect(freshSeed()).not.toBe(freshSeed());
  });

  it("of a group follow its mode", () => {
    const base = "a".repeat(64);
    expect(groupSeeds(2, "vanilla", base)).toEqual([null, null]);
    expect(groupSeeds(2, "crn", base)).toEqual([base, base]);
    expect(groupSeeds(2, "deterministic")).toEqual([DETERMINISTIC_SEED, DETERMINISTIC_SEED]);
    expect(groupSeeds(2)[0]).not.toBe(groupSeeds(2)[0]);
    expect(() => groupSeeds(2, "crn", "short")).toThrowError(/64/);
  });

  it("have 64 digits and no others", () => {
    expect(isSeed("A".repeat(64))).toBe(true);
    expect(isSeed("a".repeat(63))).toBe(false);
    expect(isSeed("g".repeat(64))).toBe(false);
    expect(isSeed(7)).toBe(false);
  });
});
