// SPDX-License-Identifier: Apache-2.0
/** One live sandbox as the agent knows it. */
import type { Resources } from "@collimate/contracts";
import type { ProcessRef, Watch } from "@collimate/host";
import type { Slot } from "../slot/slot.ts";
import type { GuestLinks } from "../guest/links.ts";
import type { ExclusiveTurns } from "./turns.ts";

export interface Sandbox {
  readonly id: string;
  readonly tenantId: string;
  readonly templateId: string;
  readonly slot: Slot;
  /** Its init on the host. */
  readonly process: ProcessRef;
  /** Tells when its init has ended. */
  readonly watch: Watch;
  /** The snapshot that it was restored from: its holder shares memory with this sandbox. */
  readonly snapshotId: string;
  /** Snapshots whose writable layers it is mounted on, top to bottom; the first is retained by this sandbox. */
  readonly layers: readonly string[];
  /** Reference by digest, and the digest. */
  readonly image: string;
  readonly imageDigest: string;
  /** The build of the guest layer that its init runs from. */
  readonly guest: string;
  /** Its own writable layer and the overlay's work folder lie here. */
  readonly folder: string;
  readonly workdir: string;
  readonly user: string;
  readonly ports: readonly number[];
  /** The host's end of its cable; undefined: it has loopback alone. */
  readonly cable: string | undefined;
  readonly resources: Resources;
  readonly links: GuestLinks;
  /** A snapshot, a suspend and a delete each want the sandbox for themselves. */
  readonly turns: ExclusiveTurns;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Kills for memory that were told to somebody already. */
  oomKillsSeen: number;
  execCount: number;
  execsRunning: number;
  lastActiveAt: number;
  /** Set once its end has begun: nothing new may start. */
  ending: boolean;
}
