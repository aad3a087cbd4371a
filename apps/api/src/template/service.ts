// SPDX-License-Identifier: Apache-2.0
/** Templates: create, look, expect, release, delete. */
import { CollimateError, TIER_LIMITS } from "@collimate/contracts";
import type { CreateTemplate, TemplateStatus } from "@collimate/contracts";
import type { NodeSnapshot, Template } from "@collimate/db";
import { announce, begin } from "../operation/begin.ts";
import type { Platform } from "../server/platform.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";
import { ensureTemplate } from "./bake.ts";
import { renderTemplate } from "./render.ts";
import { checkTier, clampWidth, specOf } from "./spec.ts";

/** A node's word on what it holds is good for this long (heartbeats come every few seconds). */
const TELEMETRY_MS = 30_000;
/** The scheduler asks again for what is then still on a node. */
const DROP_DEADLINE_MS = 600_000;

export class TemplateService {
  readonly #platform: Platform;
  constructor(platform: Platform) {
    this.#platform = platform;
  }

  #scope(caller: Caller): TenantScope {
    return new TenantScope(this.#platform.database.client, caller.tenantId);
  }

  /** The same name and body give the same template; a failed one is baked again. Another body is a new version with a new id. */
  async create(caller: Caller, body: CreateTemplate): Promise<TemplateStatus> {
    const spec = specOf(body);
    checkTier(caller.tier, spec);
    if (!TIER_LIMITS[caller.tier].bake) return this.#catalogOnly(caller, body);
    const width = clampWidth(caller.tier, body.expected_width ?? body.pool?.width ?? 0);
    const made = await ensureTemplate(this.#platform, caller, { name: body.name, image: body.image, spec, width });
    if (made.operationId) await announce(this.#platform, made.operationId);
    return this.#render([made.template]).then(only);
  }

  /** A demo key registers what the catalog already has (wire contract, section 6). */
  async #catalogOnly(caller: Caller, body: CreateTemplate): Promise<TemplateStatus> {
    const row = await this.#scope(caller).catalogTemplateOfImage(body.image);
    if (!row)
      throw new CollimateError(
        "demo_tier_limit",
        `the demo tier runs catalog images only, and ${body.image} is not one; use a pro key to bake your own`,
      );
    return this.#render([row]).then(only);
  }

  async get(caller: Caller, reference: string): Promise<TemplateStatus> {
    return this.#render([await this.#scope(caller).template(reference)]).then(only);
  }

  async list(caller: Caller): Promise<TemplateStatus[]> {
    return this.#render(await this.#scope(caller).templates());
  }

  async expect(caller: Caller, reference: string, width: number): Promise<{ id: string; expected_width: number }> {
    const row = await this.#changeable(caller, reference);
    const applied = clampWidth(caller.tier, width);
    await this.#scope(caller).touchTemplate(row.id, { declared: applied, declaredAt: new Date() });
    return { id: row.id, expected_width: applied };
  }

  /** One cheap write: trainers call it at every episode's end. A later `expect` or create outweighs it. */
  async release(caller: Caller, reference: string): Promise<{ id: string; released: true; released_at: string }> {
    const row = await this.#changeable(caller, reference);
    const now = new Date();
    await this.#scope(caller).touchTemplate(row.id, { releasedAt: now });
    return { id: row.id, released: true, released_at: now.toISOString() };
  }

  async #changeable(caller: Caller, reference: string): Promise<Template> {
    const row = await this.#scope(caller).ownTemplate(reference);
    if (!TIER_LIMITS[caller.tier].expect) throw new CollimateError("forbidden", "the demo tier has no expect and release; use a pro key");
    return row;
  }

  async delete(caller: Caller, reference: string): Promise<{ deleted: true; id: string }> {
    const row = await this.#scope(caller).ownTemplate(reference);
    await begin(this.#platform, caller, null, async () => async (scope) => {
      await scope.lock();
      const live = await scope.sandboxesOn(row);
      if (live > 0) throw new CollimateError("template_in_use", `template ${row.id} has ${live} live sandbox${live === 1 ? "" : "es"}`);
      await scope.updateTemplate(row, { deletedAt: new Date() });
      await scope.cancelQueuedBakes(row.id);
      return { kind: "drop_template", templateId: row.id, request: {}, deadlineMs: DROP_DEADLINE_MS, leased: false };
    });
    return { deleted: true, id: row.id };
  }

  async #render(rows: readonly Template[]): Promise<TemplateStatus[]> {
    const onNodes = await this.#platform.database.client.nodeSnapshot.findMany({
      where: { templateId: { in: rows.map((row) => row.id) }, seenAt: { gte: new Date(Date.now() - TELEMETRY_MS) } },
      orderBy: { nodeId: "asc" },
    });
    const byTemplate = Map.groupBy(onNodes, (n) => n.templateId);
    const current = (row: Template): NodeSnapshot[] =>
      (byTemplate.get(row.id) ?? []).filter((n) => row.snapshotId === null || n.snapshotId === row.snapshotId);
    return rows.map((row) => renderTemplate(row, current(row)));
  }
}

function only<T>(list: readonly T[]): T {
  const [first] = list;
  if (first === undefined) throw new Error("one row was expected");
  return first;
}
