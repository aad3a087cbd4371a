// SPDX-License-Identifier: Apache-2.0
export type { WaitOptions } from "./operation-ends.ts";
export { openQueues, type NodeJobState, type NodeQueue, type Queues, type QueuesOptions } from "./queues.ts";
export { parseRedisUrl } from "./redis.ts";
export type { DeadLetter, JobContext, JobHandler, JobWorker, WorkerOptions } from "./worker.ts";
