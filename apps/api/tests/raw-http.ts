// SPDX-License-Identifier: Apache-2.0
/** HTTP as bytes, for what a well-behaved client library would not send or show. */
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

export interface RawConnection extends AsyncDisposable {
  readonly socket: Socket;
  /** Sends and gives back one whole response with a Content-Length. */
  ask(request: string): Promise<{ head: string; body: string }>;
}

export async function rawConnection(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  let buffer = "";
  socket.setEncoding("utf8");
  socket.on("error", () => {});
  return {
    socket,
    async ask(request) {
      socket.write(request);
      for (;;) {
        const end = buffer.indexOf("\r\n\r\n");
        const length = end < 0 ? undefined : Number(/content-length: (\d+)/i.exec(buffer.slice(0, end))?.[1] ?? 0);
        if (length !== undefined && buffer.length >= end + 4 + length) {
          const answer = { head: buffer.slice(0, end), body: buffer.slice(end + 4, end + 4 + length) };
          buffer = buffer.slice(end + 4 + length);
          return answer;
        }
        const [chunk] = await once(socket, "data");
        buffer += String(chunk);
      }
    },
    async [Symbol.asyncDispose]() {
      socket.destroy();
    },
  };
}
