// SPDX-License-Identifier: Apache-2.0
import type { ProvidedContext } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
    redisUrl: string;
  }
}

/** What the test run gives to tests: `inject("postgresUrl")`. */
export type Provided = keyof Pick<ProvidedContext, "postgresUrl" | "redisUrl">;
