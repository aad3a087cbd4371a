// SPDX-License-Identifier: Apache-2.0
import type { Service, StopStep } from "@collimate/embedded";
import type { StatePaths } from "../state/paths.ts";
import type { Endpoints } from "../state/endpoints.ts";
import type { Secrets } from "../state/secrets.ts";

/** A part that is not ready by then never will be, also on a machine that is busy with something else. */
export const START_DEADLINE_MS = 120_000;

/** What the start of a part can build on. */
export interface StartContext {
  paths: StatePaths;
  secrets: Secrets;
  /** Of the parts that are up already, and from earlier runs. */
  endpoints: Endpoints;
  options: UpOptions;
}

export interface UpOptions {
  /** Where the api listens. */
  host: string;
  /** Undefined: the last one, else the default, else a free one. */
  port: number | undefined;
}

/** One process of the platform. */
export interface Part {
  name: string;
  start(context: StartContext): Promise<Service>;
  /** How it is ended, by a process that is not its parent. */
  stopSteps: readonly StopStep[];
  /** Rejects with the reason while nothing serves there. `servedBy` asks whether it is this part's process that does. */
  probe(endpoint: { url: string; port: number }): Promise<void>;
}
