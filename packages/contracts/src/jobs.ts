// SPDX-License-Identifier: Apache-2.0
/** What travels on the queues. Every queue is at-least-once; every job can be repeated. */
import { z } from "zod";
import { failureSchema } from "./errors.ts";
import { idSchema } from "./identity.ts";
import { egressSchema } from "./sandbox.ts";
import { readySchema, resourcesSchema } from "./template.ts";

export const QUEUES = { placement: "placement", reports: "node-reports", node: (nodeId: string) => `node.${nodeId}` } as const;
/** Redis channel on which the end of an operation is told. */
export const operationChannel = (operationId: string) => `operation.${operationId}`;

export const operationKindSchema = z.enum(["bake", "create", "fork", "suspend", "resume", "delete", "drop_template"]);
export type OperationKind = z.infer<typeof operationKindSchema>;
export const operationStateSchema = z.enum(["queued", "assigned", "done", "failed"]);
export type OperationState = z.infer<typeof operationStateSchema>;

/** api -> scheduler */
export const placementJobSchema = z.object({ operationId: idSchema });
export type PlacementJob = z.infer<typeof placementJobSchema>;

const base = { operationId: idSchema, tenantId: idSchema, traceId: z.string().max(64).optional(), attempt: z.int().default(0) };

/** A new sandbox on a node. `seed`: 64 hex digits or null for fresh randomness. */
export const childSchema = z.object({ sandboxId: idSchema, seed: z.string().nullable().default(null) });

/** scheduler -> agent, on `node.<id>` */
export const nodeJobSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("bake"),
    ...base,
    templateId: idSchema,
    snapshotId: idSchema,
    image: z.string(),
    ready: readySchema,
    resources: resourcesSchema,
    width: z.int(),
  }),
  z.object({
    kind: z.literal("create"),
    ...base,
    templateId: idSchema,
    snapshotId: idSchema,
    child: childSchema,
    resources: resourcesSchema,
    egress: egressSchema.nullable().default(null),
  }),
  z.object({
    kind: z.literal("fork"),
    ...base,
    parentId: idSchema,
    templateId: idSchema,
    children: z.array(childSchema).min(1),
    resources: resourcesSchema,
    egress: egressSchema.nullable().default(null),
  }),
  z.object({ kind: z.literal("suspend"), ...base, sandboxId: idSchema, snapshotId: idSchema }),
  z.object({ kind: z.literal("resume"), ...base, sandboxId: idSchema, snapshotId: idSchema, resources: resourcesSchema }),
  z.object({ kind: z.literal("delete"), ...base, sandboxIds: z.array(idSchema).min(1) }),
  z.object({ kind: z.literal("drop_template"), ...base, templateId: idSchema, snapshotIds: z.array(idSchema) }),
]);
export type NodeJob = z.infer<typeof nodeJobSchema>;
export type NodeJobOf<K extends NodeJob["kind"]> = Extract<NodeJob, { kind: K }>;

/** What a finished node job has to say. Times in milliseconds, sizes in bytes. */
export const nodeResultSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("bake"),
    snapshotId: idSchema,
    imageDigest: z.string(),
    sizeBytes: z.number(),
    bakeMode: z.enum(["built", "inherited_artifact"]),
    privateBytes: z.number(),
  }),
  z.object({
    kind: z.literal("create"),
    sandboxId: idSchema,
    startedAt: z.number(),
    forkTimeMs: z.number(),
    endpoints: z.record(z.string(), z.string()),
  }),
  z.object({
    kind: z.literal("fork"),
    parentId: idSchema,
    snapshotId: idSchema,
    pauseMs: z.number(),
    forkTimeMs: z.number(),
    children: z.array(z.object({ sandboxId: idSchema, startedAt: z.number(), endpoints: z.record(z.string(), z.string()) })),
  }),
  z.object({ kind: z.literal("suspend"), sandboxId: idSchema, snapshotId: idSchema, endedAt: z.number(), sizeBytes: z.number() }),
  z.object({
    kind: z.literal("resume"),
    sandboxId: idSchema,
    startedAt: z.number(),
    forkTimeMs: z.number(),
    endpoints: z.record(z.string(), z.string()),
  }),
  z.object({ kind: z.literal("delete"), ended: z.array(z.object({ sandboxId: idSchema, endedAt: z.number(), existed: z.boolean() })) }),
  z.object({ kind: z.literal("drop_template"), templateId: idSchema }),
]);
export type NodeResult = z.infer<typeof nodeResultSchema>;

/** Room that a node has and what lives on it. */
export const nodeRoomSchema = z.object({
  memoryTotalMib: z.int(),
  memoryFreeMib: z.int(),
  slotsTotal: z.int(),
  slotsFree: z.int(),
  vcpus: z.int(),
  diskFreeMib: z.int(),
});
export const nodeFactsSchema = z.object({
  kernel: z.string(),
  criu: z.string(),
  arch: z.string(),
  cgroup: z.enum(["v1", "v2"]),
  cpuFeaturesHash: z.string(),
});
export const snapshotOnNodeSchema = z.object({
  snapshotId: idSchema,
  templateId: idSchema,
  resident: z.boolean(),
  warm: z.int(),
  frozen: z.int(),
  privateBytes: z.number(),
  /** It is in the registry too: any node can have it. */
  pushed: z.boolean().default(false),
});

/** agent -> scheduler, on `node-reports` */
export const nodeReportSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("finished"), nodeId: idSchema, operationId: idSchema, at: z.number(), result: nodeResultSchema }),
  z.object({ kind: z.literal("failed"), nodeId: idSchema, operationId: idSchema, at: z.number(), failure: failureSchema }),
  z.object({
    kind: z.literal("phase"),
    nodeId: idSchema,
    operationId: idSchema,
    templateId: idSchema,
    at: z.number(),
    phase: z.enum(["Converting", "Distributing"]),
  }),
  /** A sandbox that ended without being asked to: its PID 1 died or its memory ran out. */
  z.object({ kind: z.literal("exited"), nodeId: idSchema, sandboxId: idSchema, at: z.number(), reason: z.string().max(2_000) }),
  z.object({
    kind: z.literal("heartbeat"),
    nodeId: idSchema,
    at: z.number(),
    bootId: z.string(),
    startId: z.string(),
    url: z.string(),
    draining: z.boolean(),
    room: nodeRoomSchema,
    facts: nodeFactsSchema,
    snapshots: z.array(snapshotOnNodeSchema),
    sandboxes: z.array(idSchema),
    /** Made on the node's own surface: the platform has no row of them and must leave them alone. What they take is in `room`. */
    localSandboxes: z.array(idSchema).optional(),
  }),
  z.object({
    kind: z.literal("activity"),
    nodeId: idSchema,
    at: z.number(),
    execs: z.array(z.object({ sandboxId: idSchema, count: z.int(), lastAt: z.number() })),
  }),
]);
export type NodeReport = z.infer<typeof nodeReportSchema>;
export type Heartbeat = Extract<NodeReport, { kind: "heartbeat" }>;

/** Told on `operation.<id>`, and stored in the operation's row. */
export const operationEndSchema = z.discriminatedUnion("state", [
  z.object({ state: z.literal("done"), result: nodeResultSchema.nullable() }),
  z.object({ state: z.literal("failed"), failure: failureSchema }),
]);
export type OperationEnd = z.infer<typeof operationEndSchema>;
