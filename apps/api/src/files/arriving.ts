// SPDX-License-Identifier: Apache-2.0
import { FILE_IDLE_MAX_MS } from "@collimate/contracts";
import type { IncomingMessage } from "node:http";

/**
 * A request's body as it comes. A caller that sends nothing for a minute is cut off. Leaving early does not harm the
 * connection: it can still be answered.
 */
export async function* arriving(request: IncomingMessage): AsyncGenerator<Buffer> {
  request.setTimeout(FILE_IDLE_MAX_MS); // without a listener of its own the server destroys the socket
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) if (Buffer.isBuffer(chunk)) yield chunk;
  } finally {
    request.setTimeout(0);
    // What was not taken still lies before the connection's next request; the server drops it only where nobody began to read.
    request.resume();
  }
}
