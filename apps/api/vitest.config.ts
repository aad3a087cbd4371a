// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globalSetup: "@collimate/testing/services",
    include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
    // Two cores; each file has its own database and its own Redis database.
    maxWorkers: 2,
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // A failure takes long, a success does not: the machine may be busy with others.
    expect: { poll: { timeout: 60_000 } },
  },
});
