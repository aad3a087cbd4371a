// SPDX-License-Identifier: Apache-2.0
/**
 * The scheduler's and the node's side of an operation, for tests of the api alone: takes placement jobs from the real queue,
 * writes what they would have written, and tells the end on the real channel.
 */
import { CollimateError, newId } from "@collimate/contracts";
import type { Failure, NodeResult, OperationEnd } from "@collimate/contracts";
import { Prisma } from "@collimate/db";
import type { Database, Operation } from "@collimate/db";
import type { Queues } from "@collimate/queue";
import type { ExecPeer } from "./exec-peer.ts";

export const NODE_ID = "node_test";

export class PlacementPeer implements AsyncDisposable {
  readonly #database: Database;
  readonly #queues: Queues;
  readonly #peer: ExecPeer;
  readonly #worker: AsyncDisposable;
  /** Operations in the order they came. */
  readonly seen: Operation[] = [];
  /** What a test wants instead: a failure, or `leave` (it stays queued). */
  answer: (operation: Operation) => Failure | "leave" | undefined = () => undefined;
  /** Told about each operation after it was dealt with. */
  readonly dealt = new EventTarget();

  constructor(database: Database, queues: Queues, peer: ExecPeer) {
    this.#database = database;
    this.#queues = queues;
    this.#peer = peer;
    this.#worker = queues.placementWorker(({ operationId }) => this.#place(operationId));
  }

  async addNode(): Promise<void> {
    await this.#database.client.node.create({
      data: {
        id: NODE_ID,
        url: this.#peer.url,
        bootId: "b",
        startId: "s",
        memoryTotalMib: 4096,
        memoryFreeMib: 4096,
        slotsTotal: 64,
        slotsFree: 64,
        vcpus: 2,
        facts: {},
        heartbeatAt: new Date(),
      },
    });
  }

  async #place(id: string): Promise<void> {
    const operation = await this.#database.client.operation.findUniqueOrThrow({ where: { id } });
    if (operation.state !== "queued") return;
    this.seen.push(operation);
    const answer = this.answer(operation);
    if (answer !== "leave") await this.finish(operation, answer);
    this.dealt.dispatchEvent(new Event(operation.kind));
  }

  async finish(operation: Operation, failure?: Failure): Promise<void> {
    const end: OperationEnd = failure ? { state: "failed", failure } : { state: "done", result: await this.#succeed(operation) };
    if (failure) await this.#fail(operation, failure);
    await this.#database.client.operation.update({
      where: { id: operation.id },
      data: {
        state: end.state,
        endedAt: new Date(),
        result: end.state === "done" ? (end.result ?? Prisma.DbNull) : Prisma.DbNull,
        ...(end.state === "failed" ? { failure: end.failure } : {}),
      },
    });
    await this.#queues.publishOperation(operation.id, end);
  }

  async #fail(operation: Operation, failure: Failure): Promise<void> {
    const { client } = this.#database;
    await client.sandbox.updateMany({
      where: { id: { in: operation.sandboxIds } },
      data: { state: "deleted", endedAt: new Date(), error: failure.message, version: { increment: 1 } },
    });
    if (operation.kind !== "bake" || operation.templateId === null) return;
    await client.template.update({
      where: { id: operation.templateId },
      data: {
        phase: "Failed",
        error: `${failure.message}\n${failure.detail ?? ""}`,
        errorCode: failure.code,
        buildFails: { increment: 1 },
        version: { increment: 1 },
      },
    });
  }

  async #succeed(operation: Operation): Promise<NodeResult> {
    const sandboxId = operation.sandboxIds[0] ?? "";
    const startedAt = Date.now();
    switch (operation.kind) {
      case "bake":
        return this.#bake(operation);
      case "create":
        await this.#started(operation);
        return { kind: "create", sandboxId, startedAt, forkTimeMs: 7.5, endpoints: {} };
      case "fork": {
        await this.#started(operation);
        const parent = await this.#database.client.sandbox.findUniqueOrThrow({ where: { id: sandboxId } });
        return {
          kind: "fork",
          parentId: parent.parentId ?? "",
          snapshotId: newId("snapshot"),
          pauseMs: 3,
          forkTimeMs: 12,
          children: operation.sandboxIds.map((id) => ({ sandboxId: id, startedAt, endpoints: {} })),
        };
      }
      case "suspend":
        await this.#ended(operation, "suspended");
        return { kind: "suspend", sandboxId, snapshotId: newId("snapshot"), endedAt: startedAt, sizeBytes: 1 };
      case "resume":
        await this.#started(operation);
        return { kind: "resume", sandboxId, startedAt, forkTimeMs: 5, endpoints: {} };
      case "delete":
        await this.#ended(operation, "deleted");
        return { kind: "delete", ended: operation.sandboxIds.map((id) => ({ sandboxId: id, endedAt: startedAt, existed: true })) };
      case "drop_template":
        return { kind: "drop_template", templateId: operation.templateId ?? "" };
      default:
        throw new CollimateError("internal", `no such kind ${operation.kind}`);
    }
  }

  async #bake(operation: Operation): Promise<NodeResult> {
    const { client } = this.#database;
    const id = operation.templateId ?? "";
    const snapshot = await client.snapshot.create({
      data: { id: newId("snapshot"), tenantId: operation.tenantId, templateId: id, kind: "template" },
    });
    await client.template.update({
      where: { id },
      data: {
        phase: "Live",
        snapshotId: snapshot.id,
        bakeMode: "built",
        imageDigest: `sha256:${"0".repeat(64)}`,
        version: { increment: 1 },
      },
    });
    await client.nodeSnapshot.create({
      data: { nodeId: NODE_ID, snapshotId: snapshot.id, templateId: id, resident: true, warm: 2, frozen: 1, seenAt: new Date() },
    });
    return { kind: "bake", snapshotId: snapshot.id, imageDigest: "", sizeBytes: 1, bakeMode: "built", privateBytes: 1 };
  }

  async #started(operation: Operation): Promise<void> {
    for (const id of operation.sandboxIds) {
      const row = await this.#database.client.sandbox.update({
        where: { id },
        data: {
          state: "running",
          nodeId: NODE_ID,
          startedAt: new Date(),
          endpoints: { "8000": "10.0.0.1:8000" },
          version: { increment: 1 },
        },
      });
      await this.#database.client.meterInterval.create({
        data: { id: newId("exec"), tenantId: row.tenantId, sandboxId: id, startedAt: new Date(), vcpus: 1, memoryMib: 4096 },
      });
      this.#peer.sandboxes.add(id);
    }
  }

  async #ended(operation: Operation, state: "suspended" | "deleted"): Promise<void> {
    for (const id of operation.sandboxIds) {
      this.#peer.sandboxes.delete(id);
      await this.#database.client.meterInterval.updateMany({ where: { sandboxId: id, endedAt: null }, data: { endedAt: new Date() } });
      await this.#database.client.sandbox.update({
        where: { id },
        data: { state, ...(state === "deleted" ? { endedAt: new Date() } : {}), version: { increment: 1 } },
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker[Symbol.asyncDispose]();
  }
}
