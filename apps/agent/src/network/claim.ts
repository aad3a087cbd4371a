// SPDX-License-Identifier: Apache-2.0
/**
 * One agent at a time may have the sandboxes' network of a host: names of links, addresses and the nftables table are the
 * host's. Whoever listens on this abstract unix socket has it (unix(7): such a name belongs to the network namespace, and
 * goes with the process that has it, however that ends).
 */
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

const NAME = "collimate-network";
/** An agent that starts has it for as long as it takes to look for what another left. */
const PASSING_MS = 2_000;
const LOOK_MS = 20;

export interface Claim {
  release(): Promise<void>;
}

/** Undefined: somebody else has it, and keeps it. */
export async function claimNetwork({ name = NAME, waitMs = PASSING_MS } = {}): Promise<Claim | undefined> {
  const until = performance.now() + waitMs;
  for (;;) {
    const claim = await tryToClaim(`\0${name}`);
    if (claim || performance.now() >= until) return claim;
    await delay(LOOK_MS);
  }
}

function tryToClaim(path: string): Promise<Claim | undefined> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(undefined);
      else reject(error);
    });
    server.listen(path, () => {
      server.unref();
      resolve({ release: () => new Promise<void>((done) => server.close(() => done())) });
    });
  });
}
