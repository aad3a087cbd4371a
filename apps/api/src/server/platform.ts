// SPDX-License-Identifier: Apache-2.0
/** What every service is given. */
import type { Database, PrismaClient } from "@collimate/db";
import type { Queues } from "@collimate/queue";
import type { FastifyBaseLogger } from "fastify";
import type { ApiConfig } from "../config.ts";

export type Prisma = PrismaClient;

/** The way to the scheduler and back. */
export type OperationBus = Pick<Queues, "enqueuePlacement" | "waitForOperation" | "publishOperation" | "ping">;

export interface Platform {
  readonly config: ApiConfig;
  readonly database: Database;
  readonly bus: OperationBus;
  readonly log: FastifyBaseLogger;
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal;
}
