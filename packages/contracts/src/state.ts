// SPDX-License-Identifier: Apache-2.0
/** State machines as tables, checked by one function. */
import type { SandboxState } from "./sandbox.ts";
import type { TemplatePhase } from "./template.ts";
import { CollimateError } from "./errors.ts";

export interface Transition<S extends string, E extends string> {
  readonly from: readonly S[];
  readonly event: E;
  readonly to: S;
}

/** The state after `event`, or a `conflict` that names both. */
export function next<S extends string, E extends string>(table: readonly Transition<S, E>[], from: S, event: E): S {
  const row = table.find((t) => t.event === event && t.from.includes(from));
  if (!row) throw new CollimateError("conflict", `not possible: ${event} while ${from}`);
  return row.to;
}

/** The states from which `event` is possible: what a compare-and-set compares with. */
export function sources<S extends string, E extends string>(table: readonly Transition<S, E>[], event: E): S[] {
  return table.filter((t) => t.event === event).flatMap((t) => [...t.from]);
}

export type SandboxEvent =
  | "place" | "start" | "ran" | "suspend" | "suspended" | "resume" | "resumed" | "delete" | "deleted" | "fail";

export const SANDBOX_MACHINE: readonly Transition<SandboxState, SandboxEvent>[] = [
  { from: ["requested"], event: "place", to: "placing" },
  { from: ["placing", "requested"], event: "start", to: "starting" },
  { from: ["starting", "placing"], event: "ran", to: "running" },
  { from: ["running"], event: "suspend", to: "suspending" },
  { from: ["suspending"], event: "suspended", to: "suspended" },
  { from: ["suspended"], event: "resume", to: "resuming" },
  { from: ["resuming"], event: "resumed", to: "running" },
  { from: ["requested", "placing", "starting", "running", "suspending", "suspended", "resuming", "failed"], event: "delete", to: "deleting" },
  { from: ["deleting"], event: "deleted", to: "deleted" },
  { from: ["requested", "placing", "starting", "running", "suspending", "suspended", "resuming"], event: "fail", to: "failed" },
];

/** States in which a sandbox's meter runs. */
export const METERED_STATES: readonly SandboxState[] = ["running", "suspending"];
/** States in which a row is not yet done with. */
export const LIVE_STATES: readonly SandboxState[] = [
  "requested", "placing", "starting", "running", "suspending", "suspended", "resuming", "deleting",
];

export type TemplateEvent = "convert" | "distribute" | "live" | "fail" | "rebake";
export const TEMPLATE_MACHINE: readonly Transition<TemplatePhase, TemplateEvent>[] = [
  { from: ["Pending"], event: "convert", to: "Converting" },
  { from: ["Pending", "Converting"], event: "distribute", to: "Distributing" },
  { from: ["Pending", "Converting", "Distributing"], event: "live", to: "Live" },
  { from: ["Pending", "Converting", "Distributing", "Live"], event: "fail", to: "Failed" },
  { from: ["Failed", "Live"], event: "rebake", to: "Pending" },
];
