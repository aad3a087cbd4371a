// SPDX-License-Identifier: Apache-2.0
import { agent, api, scheduler } from "./applications.ts";
import { postgres, redis, registry } from "./data-services.ts";
import type { Part } from "./part.ts";

/** In the order of starting; each may need those before it. Stopping goes the other way, so the agent ends its sandboxes first. */
export const PARTS: readonly Part[] = [postgres, redis, registry, api, scheduler, agent];
