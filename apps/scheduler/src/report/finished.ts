// SPDX-License-Identifier: Apache-2.0
import type { NodeReport, NodeResult } from "@collimate/contracts";
import type { Operation, Tx } from "@collimate/db";
import { change, type Effects } from "../change.ts";
import type { Context } from "../context.ts";
import { lockOperation } from "../operation/lock.ts";
import { deletedThere, deletedTemplateThere } from "./deleted.ts";
import { baked } from "./baked.ts";
import { forked } from "./forked.ts";
import { created, resumed } from "./started.ts";
import { suspended } from "./suspended.ts";
import type { Applied } from "./apply.ts";

export type FinishedReport = Extract<NodeReport, { kind: "finished" }>;
export type ResultOf<K extends NodeResult["kind"]> = Extract<NodeResult, { kind: K }>;

/** A result on its way into the database: the operation is locked, assigned, and of the result's kind. */
export interface Finishing<K extends NodeResult["kind"] = NodeResult["kind"]> {
  readonly ctx: Context;
  readonly tx: Tx;
  readonly effects: Effects;
  readonly operation: Operation;
  readonly nodeId: string;
  readonly at: Date;
  readonly result: ResultOf<K>;
}

export function applyFinished(ctx: Context, report: FinishedReport): Promise<Applied> {
  return change(ctx, async (tx, effects) => {
    const operation = await lockOperation(tx, report.operationId);
    if (!operation || operation.state !== "assigned" || operation.kind !== report.result.kind || !isHis(operation, report.nodeId))
      return "stale";
    const base = { ctx, tx, effects, operation, nodeId: report.nodeId, at: new Date(report.at) };
    await settle(base, report.result);
    return "applied";
  });
}

/** An operation that was taken from a node and given to another is that other's. */
export function isHis(operation: Operation, nodeId: string): boolean {
  return operation.nodeId === null || operation.nodeId === nodeId;
}

function settle(base: Omit<Finishing, "result">, result: NodeResult): Promise<unknown> {
  let settled: Promise<unknown>;
  switch (result.kind) {
    case "bake":
      settled = baked({ ...base, result });
      break;
    case "create":
      settled = created({ ...base, result });
      break;
    case "fork":
      settled = forked({ ...base, result });
      break;
    case "suspend":
      settled = suspended({ ...base, result });
      break;
    case "resume":
      settled = resumed({ ...base, result });
      break;
    case "delete":
      settled = deletedThere({ ...base, result });
      break;
    case "drop_template":
      settled = deletedTemplateThere({ ...base, result });
      break;
  }
  return settled;
}
