// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { insistOnCompatible, obstacles } from "./host.ts";
import { manifest } from "./testing/folder.ts";

const host = { kernel: "6", criu: "4.2.1", arch: "x64", guests: ["0123456789abcdef"], cpuFeatures: ["avx", "avx512f", "sse2"] };

describe("a host can restore a snapshot", () => {
  it("when it has all that it was taken with", () => {
    expect(obstacles(manifest("snp_a"), host)).toEqual([]);
  });
  it.each([
    [{ kernel: "7" }, "kernel 6, this node runs 7"],
    [{ criu: "4.3" }, "criu 4.2.1, this node has 4.3"],
    [{ arch: "arm64" }, "taken on x64, this node is arm64"],
    [{ cpuFeatures: ["sse2"] }, "processor lacks avx"],
    [{ guests: [] }, "init is of build"],
  ])("but not with %j, and says why", (change, why) => {
    expect(() => insistOnCompatible(manifest("snp_a"), { ...host, ...change })).toThrow(
      expect.objectContaining({ code: "snapshot_incompatible", message: expect.stringContaining(why) }),
    );
  });
});
