// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globalSetup: "test/node/setup.ts",
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // One node for all, and what is left on it is counted after each test: files run one at a time.
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
  },
});
