// SPDX-License-Identifier: Apache-2.0
/** Where nodes are reached. */
import { CollimateError } from "@collimate/contracts";
import type { Prisma } from "../server/platform.ts";

const CACHE_MS = 2_000;

export class NodeAddresses {
  readonly #db: Prisma;
  readonly #known = new Map<string, { until: number; url: string }>();
  constructor(db: Prisma) {
    this.#db = db;
  }

  async urlOf(nodeId: string): Promise<string> {
    const known = this.#known.get(nodeId);
    if (known && known.until > Date.now()) return known.url;
    const node = await this.#db.node.findUnique({ where: { id: nodeId }, select: { url: true, state: true } });
    if (!node || node.state === "lost")
      throw new CollimateError("upstream_error", `node ${nodeId}, where the sandbox lives, does not answer; nothing was run`);
    this.#known.set(nodeId, { until: Date.now() + CACHE_MS, url: node.url });
    return node.url;
  }
}
