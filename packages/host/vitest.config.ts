// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: ["test/build-programs.ts"],
    // Mounts, cgroups and processes are counted before and after each test: files run one at a time.
    fileParallelism: false,
    testTimeout: 30_000,
  },
});
