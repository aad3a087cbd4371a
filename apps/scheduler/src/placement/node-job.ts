// SPDX-License-Identifier: Apache-2.0
/** The jobs of an assigned operation, made from its rows alone, so that they can be made again whenever they are lost. */
import {
  egressSchema,
  type NodeJob,
  nodeJobSchema,
  type OperationKind,
  operationKindSchema,
  readySchema,
  resourcesSchema,
} from "@collimate/contracts";
import type { Operation, Sandbox, Tx } from "@collimate/db";
import { z } from "zod";
import { sandboxesOf } from "../sandbox/move.ts";

export interface AddressedJob {
  readonly nodeId: string;
  readonly job: NodeJob;
}

/** The `spec` column of a template. */
export const templateSpecSchema = z.object({ ready: readySchema.default({}), resources: resourcesSchema });
/** Marks deletes of what a node has and the database does not: their ids need no rows. */
export const strayRequestSchema = z.object({ strays: z.literal(true) });

type Maker = (tx: Tx, operation: Operation) => Promise<AddressedJob[]>;

const MAKE: Record<OperationKind, Maker> = {
  async bake(tx, operation) {
    const template = await tx.template.findUniqueOrThrow({ where: { id: required(operation.templateId, "template") } });
    const { ready, resources } = templateSpecSchema.parse(template.spec);
    return home(operation, {
      kind: "bake",
      ...base(operation),
      templateId: template.id,
      snapshotId: required(operation.snapshotId, "snapshot"),
      image: template.image,
      ready,
      resources,
      width: template.declared,
    });
  },
  async create(tx, operation) {
    const [sandbox] = await sandboxesOf(tx, operation.sandboxIds);
    return sandbox ? [createJob(operation, sandbox)] : [];
  },
  async fork(tx, operation) {
    const children = await sandboxesOf(tx, operation.sandboxIds);
    const [first] = children;
    if (!first) return [];
    return home(operation, {
      kind: "fork",
      ...base(operation),
      parentId: required(first.parentId, "parent"),
      templateId: first.templateId,
      children: children.map(childOf),
      ...limitsOf(first),
    });
  },
  async suspend(_tx, operation) {
    return home(operation, {
      kind: "suspend",
      ...base(operation),
      sandboxId: required(operation.sandboxIds[0], "sandbox"),
      snapshotId: required(operation.snapshotId, "snapshot"),
    });
  },
  async resume(tx, operation) {
    const [sandbox] = await sandboxesOf(tx, operation.sandboxIds);
    if (!sandbox) return [];
    return home(operation, {
      kind: "resume",
      ...base(operation),
      sandboxId: sandbox.id,
      snapshotId: required(operation.snapshotId, "snapshot"),
      resources: resourcesSchema.parse(sandbox.resources),
    });
  },
  async delete(tx, operation) {
    if (strayRequestSchema.safeParse(operation.request).success)
      return home(operation, { kind: "delete", ...base(operation), sandboxIds: operation.sandboxIds });
    return deleteJobs(
      operation,
      (await sandboxesOf(tx, operation.sandboxIds)).filter((row) => row.state === "deleting"),
    );
  },
  async drop_template(tx, operation) {
    const templateId = required(operation.templateId, "template");
    const snapshots = await tx.snapshot.findMany({ where: { templateId }, select: { id: true }, orderBy: { id: "asc" } });
    const job = nodeJobSchema.parse({ kind: "drop_template", ...base(operation), templateId, snapshotIds: snapshots.map((row) => row.id) });
    return (await nodesWithTemplate(tx, templateId)).map((nodeId) => ({ nodeId, job }));
  },
};

export function createJob(operation: Operation, sandbox: Sandbox): AddressedJob {
  const job = {
    kind: "create",
    ...base(operation),
    templateId: sandbox.templateId,
    snapshotId: operation.snapshotId,
    child: childOf(sandbox),
    ...limitsOf(sandbox),
  };
  return { nodeId: required(operation.nodeId, "node"), job: nodeJobSchema.parse(job) };
}

/** One for each node that has some of them. */
export function deleteJobs(operation: Operation, sandboxes: readonly Sandbox[]): AddressedJob[] {
  return [...Map.groupBy(sandboxes, (row) => required(row.nodeId, "node"))].map(([nodeId, on]) => ({
    nodeId,
    job: nodeJobSchema.parse({ kind: "delete", ...base(operation), sandboxIds: on.map((row) => row.id) }),
  }));
}

export function nodeJobsOf(tx: Tx, operation: Operation): Promise<AddressedJob[]> {
  return MAKE[operationKindSchema.parse(operation.kind)](tx, operation);
}

/** Nodes, other than lost ones, that said they hold a snapshot of the template. */
export async function nodesWithTemplate(tx: Tx, templateId: string): Promise<string[]> {
  const rows = await tx.$queryRaw<{ nodeId: string }[]>`
    SELECT DISTINCT s."nodeId" FROM "node_snapshots" s JOIN "nodes" n ON n."id" = s."nodeId" WHERE s."templateId" = ${templateId} AND n."state" <> 'lost' ORDER BY 1`;
  return rows.map((row) => row.nodeId);
}

function home(operation: Operation, job: unknown): AddressedJob[] {
  return [{ nodeId: required(operation.nodeId, "node"), job: nodeJobSchema.parse(job) }];
}

function base(operation: Operation) {
  return { operationId: operation.id, tenantId: operation.tenantId, attempt: operation.attempt };
}

function childOf(sandbox: Sandbox) {
  return { sandboxId: sandbox.id, seed: sandbox.seed };
}

function limitsOf(sandbox: Sandbox) {
  return {
    resources: resourcesSchema.parse(sandbox.resources),
    egress: sandbox.egress === null ? null : egressSchema.parse(sandbox.egress),
  };
}

function required<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`an assigned operation has no ${what}`);
  return value;
}
