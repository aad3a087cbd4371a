// SPDX-License-Identifier: Apache-2.0
export * from "./health-server.ts";
export * from "./logger.ts";
export * from "./metrics.ts";
