// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";

// Real servers and processes are started: give them time on a busy machine.
export default defineConfig({ test: { testTimeout: 60_000, hookTimeout: 60_000 } });
