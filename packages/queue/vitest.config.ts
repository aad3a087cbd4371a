// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";

// A real Redis is started: give it time on a busy machine.
export default defineConfig({ test: { testTimeout: 30_000, hookTimeout: 60_000 } });
