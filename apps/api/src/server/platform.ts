// SPDX-License-Identifier: Apache-2.0
/** What every service is given. */
import type { OperationEnd, PlacementJob } from "@collimate/contracts";
import type { Database, PrismaClient } from "@collimate/db";
import type { FastifyBaseLogger } from "fastify";
import type { ApiConfig } from "../config.ts";

export type Prisma = PrismaClient;

/** The way to the scheduler and back. `packages/queue` is behind it. */
export interface OperationBus {
  enqueue(job: PlacementJob): Promise<void>;
  /**
   * The end of an operation: told on its channel, or found by `read` (called now and then, so that a missed message
   * delays but never hangs). Null when `signal` aborts first.
   */
  ended(operationId: string, read: () => Promise<OperationEnd | null>, signal: AbortSignal): Promise<OperationEnd | null>;
}

export interface Platform {
  readonly config: ApiConfig;
  readonly database: Database;
  readonly bus: OperationBus;
  readonly log: FastifyBaseLogger;
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal;
}
