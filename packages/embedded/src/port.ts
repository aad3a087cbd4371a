// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { createServer } from "node:net";

/** A loopback port that was free a moment ago. Nothing reserves it: a caller that loses the race tries again. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("the kernel gave no port");
  return address.port;
}
