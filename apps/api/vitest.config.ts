// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globalSetup: "@collimate/testing/services",
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // Two cores; each file has its own database and its own Redis database.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
