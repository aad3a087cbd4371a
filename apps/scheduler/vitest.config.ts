// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";

export default defineConfig({ test: { globalSetup: "@collimate/testing/services", testTimeout: 30_000, hookTimeout: 60_000 } });
