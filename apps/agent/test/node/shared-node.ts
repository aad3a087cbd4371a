// SPDX-License-Identifier: Apache-2.0
/** The node that all test files share, one after another; each file leaves it as it found it. */
import { afterAll, afterEach, beforeAll, expect, inject, vi } from "vitest";
import { type Footprint, footprint } from "./leftovers.ts";
import { type Baked, Platform } from "./platform.ts";

/** For what the kernel and the agent do after they have answered: slots are cleaned, groups emptied. */
export const SETTLED = { timeout: 10_000, interval: 20 };

interface SharedNode {
  readonly platform: Platform;
  readonly template: Baked;
  /** Resolves when the node has nothing more and nothing less than that. */
  settlesAt(before: Footprint): Promise<void>;
  footprint(): Promise<Footprint>;
  /** When two looks see the same: what served the last request has gone. */
  restingFootprint(): Promise<Footprint>;
}

/** To be called once in a test file: gives the node, and checks after each test that nothing of the test is left on it. */
export function sharedNode(): SharedNode {
  let platform: Platform | undefined;
  let atRest: Footprint | undefined;
  const node = inject("node");
  const shared: SharedNode = {
    get platform() {
      if (!platform) throw new Error("asked for outside of a test");
      return platform;
    },
    template: inject("template"),
    footprint: () => footprint(node),
    restingFootprint: () => {
      let last: Footprint | undefined;
      return vi.waitFor(
        async () => {
          const now = await footprint(node);
          const before = last;
          last = now;
          expect(now).toEqual(before);
          return now;
        },
        { timeout: SETTLED.timeout, interval: 100 },
      );
    },
    settlesAt: (before) => vi.waitFor(async () => expect(await footprint(node)).toEqual(before), SETTLED),
  };
  beforeAll(async () => {
    platform = new Platform(node);
    atRest = await shared.restingFootprint();
  });
  afterEach(async () => {
    if (atRest) await shared.settlesAt(atRest);
  });
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]();
  });
  return shared;
}
