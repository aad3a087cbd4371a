// SPDX-License-Identifier: Apache-2.0
export { freshDatabase } from "./fresh-database.ts";
export { SimulatedAgent, type SimulatedAgentOptions, SimulatedFailure } from "./simulated-agent.ts";
export { flushRedis } from "./flush-redis.ts";
export { startStack, type Stack } from "@collimate/embedded";
export { PUBLISHED_VERSION, publishedClientPython } from "./published-client.ts";
export type { Provided } from "./provided.ts";
