// SPDX-License-Identifier: Apache-2.0
/**
 * One agent at a time may have the sandboxes' network of a host: names of links, addresses and the nftables table are the
 * host's. Whoever listens on this abstract unix socket has it (unix(7): such a name belongs to the network namespace, and
 * goes with the process that has it, however that ends).
 */
import { createServer } from "node:net";

const NAME = "\0collimate-network";

export interface Claim {
  release(): Promise<void>;
}

/** Undefined: somebody else has it. */
export function claimNetwork(): Promise<Claim | undefined> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(undefined);
      else reject(error);
    });
    server.listen(NAME, () => {
      server.unref();
      resolve({ release: () => new Promise<void>((done) => server.close(() => done())) });
    });
  });
}
