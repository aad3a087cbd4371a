// SPDX-License-Identifier: Apache-2.0
/**
 * The network of this node's sandboxes: a cable for each that has one, and rules on the host that they share. Made with
 * the first sandbox that wants one, undone when the agent stops; a node without such sandboxes has nothing of it.
 */
import { CollimateError } from "@collimate/contracts";
import { DETACH_MAX, HostError, type HostClient, type NetworkRequest, type ProcessRef } from "@collimate/host";
import type { Logger } from "@collimate/telemetry";
import { claimNetwork, type Claim } from "./claim.ts";

/** 100.64.0.0/10: what tells sandboxes apart on the host. */
const OUTER_BASE = (100 << 24) | (64 << 16);
const OUTER_COUNT = 1 << 22;

interface Up {
  readonly claim: Claim;
  readonly host: { uplink: string; forwardingWas: boolean };
}

export class Network {
  readonly #host: HostClient;
  readonly #request: NetworkRequest;
  readonly #log: Logger;
  #up: Promise<Up> | undefined;
  /** Cables to forget; a call of the daemon's takes many as quickly as one. */
  #ended: string[] = [];
  #lastCall: Promise<void> = Promise.resolve();
  #nextCall: Promise<void> | undefined;
  /** Never used twice: the cable of a sandbox that ended lives on for a moment. */
  #next = 1;

  constructor(host: HostClient, request: NetworkRequest, log: Logger) {
    this.#host = host;
    this.#request = request;
    this.#log = log;
  }

  /** Removes what an agent that was killed has left. Another agent's, which runs, is left alone. */
  async sweep(): Promise<void> {
    const claim = await claimNetwork({ waitMs: 0 });
    if (!claim) return;
    await this.#host.sweepNetwork().finally(() => claim.release());
  }

  /** Resolves when cables can be attached. */
  async ready(): Promise<void> {
    this.#up ??= this.#bringUp();
    try {
      await this.#up;
    } catch (error) {
      this.#up = undefined;
      throw new CollimateError(
        "network_unavailable",
        `this node cannot give a sandbox a network: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
    }
  }

  /** Gives the network namespace of a process its interface. The cable's name is for `detach`. */
  async attach(process: ProcessRef): Promise<string> {
    await this.ready();
    const number = this.#next++;
    const name = `col${number}`;
    await this.#host.attachNetwork(process, { name, outer: outerAddress(number) });
    return name;
  }

  /** Forgets a cable; it goes along with its sandbox, which must have ended. */
  detach(name: string): Promise<void> {
    this.#ended.push(name);
    this.#nextCall ??= this.#lastCall.then(() => this.#forget());
    return this.#nextCall;
  }

  async close(): Promise<void> {
    const up = await this.#up?.catch(() => undefined);
    if (!up) return;
    try {
      await this.#host.sweepNetwork();
      await this.#host.finishNetwork(up.host);
    } catch (error) {
      this.#log.error({ err: error }, "the network's rules stay on the host");
    } finally {
      await up.claim.release();
    }
  }

  /** All whose sandboxes have ended while the call before was under way. */
  #forget(): Promise<void> {
    const names = this.#ended.splice(0);
    this.#nextCall = undefined;
    const calls = Array.from({ length: Math.ceil(names.length / DETACH_MAX) }, (_, index) =>
      this.#host.detachNetwork(names.slice(index * DETACH_MAX, (index + 1) * DETACH_MAX)),
    );
    // What is not forgotten is in nobody's way, since no name comes twice: it must not keep a sandbox from being ended.
    this.#lastCall = Promise.all(calls).then(
      () => {},
      (err: unknown) => this.#log.error({ err, names }, "addresses of ended sandboxes stay until the agent stops"),
    );
    return this.#lastCall;
  }

  async #bringUp(): Promise<Up> {
    const claim = await claimNetwork();
    if (!claim) throw new Error("another agent on this host has one already");
    try {
      await this.#host.sweepNetwork();
      return { claim, host: await this.#host.initNetwork(this.#request) };
    } catch (error) {
      await claim.release();
      throw error instanceof HostError ? new Error(error.message, { cause: error }) : error;
    }
  }
}

export function outerAddress(number: number): string {
  // The first and the last are no addresses of hosts.
  const address = (OUTER_BASE + 1 + ((number - 1) % (OUTER_COUNT - 2))) >>> 0;
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
}
