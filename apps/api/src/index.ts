// SPDX-License-Identifier: Apache-2.0
export { readConfig } from "./config.ts";
export type { ApiConfig, Rates } from "./config.ts";
export { startApi } from "./start.ts";
export type { Api } from "./start.ts";
export type { AppRouter } from "./trpc/router.ts";
