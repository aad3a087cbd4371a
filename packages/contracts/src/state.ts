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
  | "place"
  | "unplace"
  | "start"
  | "ran"
  | "suspend"
  | "suspended"
  | "kept"
  | "resume"
  | "resumed"
  | "put_back"
  | "delete"
  | "deleted"
  | "fail";

export const SANDBOX_MACHINE: readonly Transition<SandboxState, SandboxEvent>[] = [
  { from: ["requested"], event: "place", to: "placing" },
  // Its node was lost or refused before it ran: it may be placed on another.
  { from: ["placing", "starting"], event: "unplace", to: "requested" },
  { from: ["placing", "requested"], event: "start", to: "starting" },
  { from: ["starting", "placing"], event: "ran", to: "running" },
  { from: ["running"], event: "suspend", to: "suspending" },
  { from: ["suspending"], event: "suspended", to: "suspended" },
  // The suspend failed; it runs on.
  { from: ["suspending"], event: "kept", to: "running" },
  { from: ["suspended"], event: "resume", to: "resuming" },
  { from: ["resuming"], event: "resumed", to: "running" },
  // The resume failed; its snapshot is still there.
  { from: ["resuming"], event: "put_back", to: "suspended" },
  {
    from: ["requested", "placing", "starting", "running", "suspending", "suspended", "resuming", "failed"],
    event: "delete",
    to: "deleting",
  },
  { from: ["deleting"], event: "deleted", to: "deleted" },
  { from: ["requested", "placing", "starting", "running", "suspending", "suspended", "resuming"], event: "fail", to: "failed" },
];

/** Where `event` leads, from wherever it is possible. */
export function target<S extends string, E extends string>(table: readonly Transition<S, E>[], event: E): S {
  const row = table.find((t) => t.event === event);
  if (!row) throw new CollimateError("internal", `no transition is called ${event}`);
  return row.to;
}

/** States in which a sandbox's meter runs. */
export const METERED_STATES: readonly SandboxState[] = ["running", "suspending"];
/** States in which a row is not yet done with. */
export const LIVE_STATES: readonly SandboxState[] = [
  "requested",
  "placing",
  "starting",
  "running",
  "suspending",
  "suspended",
  "resuming",
  "deleting",
];

export type TemplateEvent = "convert" | "distribute" | "live" | "fail" | "rebake";
export const TEMPLATE_MACHINE: readonly Transition<TemplatePhase, TemplateEvent>[] = [
  { from: ["Pending"], event: "convert", to: "Converting" },
  { from: ["Pending", "Converting"], event: "distribute", to: "Distributing" },
  { from: ["Pending", "Converting", "Distributing"], event: "live", to: "Live" },
  { from: ["Pending", "Converting", "Distributing", "Live"], event: "fail", to: "Failed" },
  { from: ["Failed", "Live"], event: "rebake", to: "Pending" },
];
