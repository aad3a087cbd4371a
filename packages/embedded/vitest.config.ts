// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";

// Real servers are started: give them time on a busy machine.
export default defineConfig({ test: { testTimeout: 30_000, hookTimeout: 30_000 } });
