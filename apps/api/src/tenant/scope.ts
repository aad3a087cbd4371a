// SPDX-License-Identifier: Apache-2.0
/**
 * The only way from a request to the database: every query of this class is bound to one tenant, so that a foreign id is
 * indistinguishable from an unknown one. Public (catalog) templates are the one thing that tenants see of another.
 */
import { CollimateError, LIVE_STATES, next, SANDBOX_MACHINE, sandboxStateSchema } from "@collimate/contracts";
import type { SandboxEvent, SandboxState } from "@collimate/contracts";
import type { Operation, Prisma as P, Sandbox, Template, Tx } from "@collimate/db";
import { TemplateNotFound } from "../server/errors.ts";

export class TenantScope {
  readonly tenantId: string;
  readonly #db: Tx;

  constructor(db: Tx, tenantId: string) {
    this.#db = db;
    this.tenantId = tenantId;
  }

  /** Until the transaction ends, no other request of this tenant is between counting and inserting. */
  async lock(): Promise<void> {
    await this.#db.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`tenant ${this.tenantId}`}, 0))`;
  }

  // sandboxes

  async sandbox(id: string): Promise<Sandbox> {
    const row = await this.#db.sandbox.findFirst({ where: { id, tenantId: this.tenantId, state: { not: "deleted" } } });
    if (!row) throw new CollimateError("not_found", `no sandbox ${id}`);
    return row;
  }

  /** Oldest first; a group in the order of its children. */
  sandboxes(): Promise<Sandbox[]> {
    return this.#db.sandbox.findMany({
      where: { tenantId: this.tenantId, state: { not: "deleted" } },
      orderBy: [{ createdAt: "asc" }, { ordinal: "asc" }, { id: "asc" }],
    });
  }

  /** In the order of `ids`; those that are gone are left out. */
  async sandboxesById(ids: readonly string[]): Promise<Sandbox[]> {
    const rows = await this.#db.sandbox.findMany({ where: { tenantId: this.tenantId, id: { in: [...ids] } } });
    const byId = new Map(rows.map((row) => [row.id, row]));
    return ids.flatMap((id) => byId.get(id) ?? []);
  }

  liveSandboxCount(): Promise<number> {
    return this.#db.sandbox.count({ where: { tenantId: this.tenantId, state: { in: [...LIVE_STATES] } } });
  }

  async insertSandboxes(rows: readonly Omit<P.SandboxCreateManyInput, "tenantId">[]): Promise<void> {
    await this.#db.sandbox.createMany({ data: rows.map((row) => ({ ...row, tenantId: this.tenantId })) });
  }

  /** Compare-and-set: `conflict` when the table has no such step, or when someone else changed the row since it was read. */
  async moveSandbox(row: Sandbox, event: SandboxEvent, data: P.SandboxUpdateManyMutationInput = {}): Promise<SandboxState> {
    const to = next(SANDBOX_MACHINE, sandboxStateSchema.parse(row.state), event);
    const moved = await this.#db.sandbox.updateMany({
      where: { id: row.id, tenantId: this.tenantId, version: row.version, state: row.state },
      data: { ...data, state: to, version: { increment: 1 } },
    });
    if (moved.count !== 1) throw new CollimateError("conflict", `sandbox ${row.id} changed meanwhile; read it again`);
    return to;
  }

  // templates

  /** By id, or by name: the newest live version, else the newest. Own templates win over catalog ones of the same name. */
  async template(reference: string): Promise<Template> {
    const seen: P.TemplateWhereInput[] = [{ tenantId: this.tenantId }, { visibility: "public" }];
    const rows = await this.#db.template.findMany({
      where: { deletedAt: null, AND: [{ OR: seen }, { OR: [{ id: reference }, { name: reference }] }] },
      orderBy: [{ createdAt: "desc" }, { id: "desc" }],
      take: 200,
    });
    const rank = (t: Template) =>
      (t.id === reference ? 8 : 0) + (t.tenantId === this.tenantId ? 4 : 0) + (t.phase === "Live" ? 2 : 0) + (t.phase === "Failed" ? 0 : 1);
    const best = rows.reduce<Template | undefined>((a, b) => (a !== undefined && rank(a) >= rank(b) ? a : b), undefined);
    if (!best) throw new TemplateNotFound(reference);
    return best;
  }

  /** Of a sandbox of this tenant; there while the sandbox is. */
  templateOf(sandbox: Sandbox): Promise<Template> {
    return this.#db.template.findUniqueOrThrow({ where: { id: sandbox.templateId } });
  }

  /** Anyone's: a catalog template is in use as long as one tenant has a sandbox of it. */
  sandboxesOn(own: Template): Promise<number> {
    return this.#db.sandbox.count({ where: { template: { id: own.id, tenantId: this.tenantId }, state: { in: [...LIVE_STATES] } } });
  }

  /** As `template`, for changes: those of the catalog are refused. */
  async ownTemplate(reference: string): Promise<Template> {
    const row = await this.template(reference);
    if (row.tenantId !== this.tenantId)
      throw new CollimateError("forbidden", `${reference} is a catalog template, which only the platform changes`);
    return row;
  }

  /** Own ones and the catalog, oldest first. */
  templates(): Promise<Template[]> {
    return this.#db.template.findMany({
      where: { deletedAt: null, OR: [{ tenantId: this.tenantId }, { visibility: "public" }] },
      orderBy: [{ createdAt: "asc" }, { id: "asc" }],
    });
  }

  templateOfBody(name: string, specHash: string): Promise<Template | null> {
    return this.#db.template.findFirst({ where: { tenantId: this.tenantId, name, specHash, deletedAt: null } });
  }

  catalogTemplateOfImage(image: string): Promise<Template | null> {
    return this.#db.template.findFirst({ where: { visibility: "public", image, deletedAt: null }, orderBy: { createdAt: "desc" } });
  }

  async insertTemplate(row: Omit<P.TemplateUncheckedCreateInput, "tenantId">): Promise<Template> {
    return this.#db.template.create({ data: { ...row, tenantId: this.tenantId } });
  }

  async updateTemplate(row: Template, data: P.TemplateUpdateManyMutationInput): Promise<void> {
    const changed = await this.#db.template.updateMany({
      where: { id: row.id, tenantId: this.tenantId, version: row.version, deletedAt: null },
      data: { ...data, version: { increment: 1 } },
    });
    if (changed.count !== 1) throw new CollimateError("conflict", `template ${row.id} changed meanwhile; read it again`);
  }

  /** For what may be written at any time, whoever else writes: declared widths. */
  async touchTemplate(id: string, data: Pick<P.TemplateUpdateManyMutationInput, "declared" | "declaredAt" | "releasedAt">): Promise<void> {
    await this.#db.template.updateMany({ where: { id, tenantId: this.tenantId, deletedAt: null }, data });
  }

  // operations

  operation(id: string): Promise<Operation | null> {
    return this.#db.operation.findFirst({ where: { id, tenantId: this.tenantId } });
  }

  /** Within a transaction: nobody else changes the operation until it ends. */
  async lockOperation(id: string): Promise<Operation | null> {
    await this.#db.$queryRaw`SELECT 1 FROM "operations" WHERE "id" = ${id} AND "tenantId" = ${this.tenantId} FOR UPDATE`;
    return this.operation(id);
  }

  operationOfKey(idempotencyKey: string): Promise<Operation | null> {
    return this.#db.operation.findFirst({ where: { tenantId: this.tenantId, idempotencyKey } });
  }

  openOperationOn(sandboxId: string): Promise<Operation | null> {
    return this.#db.operation.findFirst({
      where: { tenantId: this.tenantId, sandboxIds: { has: sandboxId }, state: { in: ["queued", "assigned"] } },
      orderBy: { createdAt: "desc" },
    });
  }

  insertOperation(row: Omit<P.OperationCreateInput, "tenantId">): Promise<Operation> {
    return this.#db.operation.create({ data: { ...row, tenantId: this.tenantId } });
  }

  /** Bakes of a template that no node has begun. */
  async cancelQueuedBakes(templateId: string): Promise<void> {
    const failure = new CollimateError("not_found", `template ${templateId} was deleted`).toFailure();
    await this.#db.operation.updateMany({
      where: { tenantId: this.tenantId, templateId, kind: "bake", state: "queued" },
      data: { state: "failed", failure, endedAt: new Date(), version: { increment: 1 } },
    });
  }

  /** True when the operation was changed by this call. */
  async updateOperation(where: { id: string; state?: string }, data: P.OperationUpdateManyMutationInput): Promise<boolean> {
    const changed = await this.#db.operation.updateMany({ where: { ...where, tenantId: this.tenantId }, data });
    return changed.count === 1;
  }
}
