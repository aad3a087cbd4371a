// SPDX-License-Identifier: Apache-2.0
/**
 * vitest `globalSetup`: one real Postgres and one real Redis for a package's whole test run.
 *
 *     // vitest.config.ts
 *     export default defineConfig({ test: { globalSetup: "@collimate/testing/services" } });
 */
import { startStack } from "@collimate/embedded";
import type { TestProject } from "vitest/node";
import type { Provided } from "./provided.ts";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stack = await startStack("postgres", "redis");
  project.provide("postgresUrl" satisfies Provided, stack.postgres.url);
  project.provide("redisUrl" satisfies Provided, stack.redis.url);
  return () => stack.stop();
}
