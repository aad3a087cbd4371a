// SPDX-License-Identifier: Apache-2.0
export { freshDatabase } from "./fresh-database.ts";
export { SimulatedAgent, type SimulatedAgentOptions, SimulatedFailure } from "./simulated-agent.ts";
export { flushRedis } from "./flush-redis.ts";
export { startStack, type Stack } from "@collimate/embedded";
export type { Provided } from "./provided.ts";
export { ourClient, PUBLISHED_VERSION, publishedClient, type PythonClient } from "./python-clients.ts";
