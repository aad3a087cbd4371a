// SPDX-License-Identifier: Apache-2.0
import type { Database } from "@collimate/db";
import type { Queues } from "@collimate/queue";
import type { Logger } from "@collimate/telemetry";
import type { Policy } from "./config.ts";
import type { Metrics } from "./metrics.ts";
import type { RoomCounter } from "./node/room.ts";

/** What every part of the scheduler works with. */
export interface Context {
  readonly db: Database;
  readonly queues: Queues;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly policy: Policy;
  /** Now. Deadlines are judged by this clock and by no other. */
  readonly now: () => Date;
  readonly room: RoomCounter;
  /** Room may have come free or work may have come: look again, soon. */
  readonly wakePlacement: () => void;
}
