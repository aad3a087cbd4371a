// SPDX-License-Identifier: Apache-2.0
import { z } from "zod";

import { hostErrorCodes } from "./errors.ts";

/**
 * A process by its pid (host's view) and the clock tick after boot at which it started: field 22 of /proc/PID/stat.
 * Together they never mean another process, whatever becomes of the pid.
 */
export interface ProcessRef {
  pid: number;
  startTime: number;
}

/** What a C string and JSON can both hold. The daemon hangs up on other text, and with it on everything under way. */
const text = z.string().refine((value) => !value.includes("\0") && value.isWellFormed(), "must be text without NUL");
const absolutePath = text.refine((value) => value.startsWith("/"), "must be an absolute path");
const slot = z.int().min(0).max(65519);

/** A directory name below `base`. */
const innerPath = z.string().regex(/^[A-Za-z0-9._-][A-Za-z0-9._/-]*$/, "must be a relative path of plain characters");

export const overlayRequest = z.object({
  /** Its user namespace gives the idmap: `createUserns` comes first. */
  slot,
  /** An existing directory of the agent's mount namespace. */
  target: absolutePath,
  /** Layers of in-namespace ids, top to bottom. */
  lower: z.array(absolutePath).min(1).max(400),
  /** The directory that holds `upper` and `work`, both empty and owned by uid 0. */
  base: absolutePath,
  upper: innerPath.default("upper"),
  work: innerPath.default("work"),
  /** No syncing at all, also not at unmount. For layers that a host crash may lose. */
  volatile: z.boolean().default(false),
  /** Hard links survive copy-up, and lower files that are in use elsewhere as upper are refused. */
  index: z.boolean().default(false),
  /** File handles, which inotify needs to survive a checkpoint. Needs `index`. */
  nfsExport: z.boolean().default(false),
  /** Directories of lower layers can be renamed (otherwise rename(2) says EXDEV). */
  redirectDir: z.boolean().default(false),
});
export type OverlayRequest = z.input<typeof overlayRequest>;

/** Names a watch: any text that tells the agent what it watches. */
export const watchKey = text.min(1).max(100);

const environment = z.record(text.regex(/^[^=]+$/), text);

export const bootRequest = z.object({
  slot,
  /** A mounted overlay with /proc, /dev/null and the program in it. */
  root: absolutePath,
  /** cgroup.procs files that the first process enters before its cgroup namespace is made. */
  cgroups: z.array(absolutePath).max(16).default([]),
  /** The program (absolute, inside) and its arguments. */
  argv: z.array(text).min(1).max(256),
  env: environment.default({}),
  hostname: text.min(1).max(64).default("sandbox"),
  /** Addresses for the loopback device, as `10.0.0.2/32`. */
  addrs: z.array(text).max(8).default([]),
});
export type BootRequest = z.input<typeof bootRequest>;

export const networkRequest = z.object({
  /** Default: the device of the default route. */
  uplink: text.max(15).optional(),
  /** Ranges (IPv4) that sandboxes may reach although they are private. */
  open: z.array(z.cidrv4()).max(32).default([]),
  /** Who answers sandboxes that ask for names at the gateway, 169.254.1.1; nobody if unset. */
  resolver: z.ipv4().optional(),
});
export type NetworkRequest = z.input<typeof networkRequest>;

/** 100.64.0.0/10 (RFC 6598): what tells sandboxes apart on the host; no packet with it leaves the host. */
const outerAddress = z.ipv4().refine((address) => {
  const [first = 0, second = 0] = address.split(".").map(Number);
  return first === 100 && second >> 6 === 1;
}, "must be an address of 100.64.0.0/10");

const linkName = z.string().regex(/^col\d{1,12}$/, "must be col<number>");

/** As many as fit one request. */
export const DETACH_MAX = 32;
export const linkNames = z.array(linkName).max(DETACH_MAX);

export const attachRequest = z.object({
  /** The host's end of the cable. Never one that was used before: a dying sandbox holds its name for a while. */
  name: linkName,
  /** The sandbox's address on this host; one at a time may have it. */
  outer: outerAddress,
  mtu: z.int().min(576).max(65_535).default(1500),
});
export type AttachRequest = z.input<typeof attachRequest>;

const failedAnswer = z.object({
  id: z.int(),
  ok: z.literal(false),
  code: z.enum(hostErrorCodes),
  errno: z.string().optional(),
  error: z.string(),
});
const okAnswer = z.looseObject({ id: z.int(), ok: z.literal(true) });
const exitEvent = z.object({ event: z.literal("exit"), key: z.string(), pid: z.int() });
/** Any line that the daemon writes to a control connection. */
export const daemonLine = z.union([okAnswer, failedAnswer, exitEvent]);
export type DaemonLine = z.infer<typeof daemonLine>;

export const createdResult = z.object({ created: z.boolean() });
export const droppedResult = z.object({ dropped: z.boolean() });
export const umountResult = z.object({ was_mounted: z.boolean() });
export const bootResult = z
  .object({ pid: z.int().positive(), start_time: z.int().positive() })
  .transform((result): ProcessRef => ({ pid: result.pid, startTime: result.start_time }));
export const killResult = z.object({ sent: z.boolean() });
export const networkResult = z.object({ uplink: z.string(), forwarding_was: z.boolean() });
export const emptyResult = z.object({});
export const listResult = z.object({
  slots: z.array(z.int()),
  watches: z.array(z.object({ key: z.string(), pid: z.int() })),
});
export const statResult = z.object({
  pid: z.int(),
  connections: z.int(),
  dials: z.int(),
  workers: z.int(),
  slots: z.int(),
  watches: z.int(),
});

/** The first line of hostd's standard output. */
export const readyLine = z.object({ ready: z.literal(true), pid: z.int().positive() });
