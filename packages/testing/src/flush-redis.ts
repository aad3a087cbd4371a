// SPDX-License-Identifier: Apache-2.0
import { createConnection } from "node:net";
import { once } from "node:events";

/** FLUSHALL: the Redis forgets everything, as after a disaster. Spoken by hand, since only packages/queue knows a Redis client. */
export async function flushRedis(url: string): Promise<void> {
  const { hostname, port, password } = new URL(url);
  const socket = createConnection({ host: hostname, port: Number(port) });
  try {
    await once(socket, "connect");
    socket.write(`AUTH ${decodeURIComponent(password)}\r\nFLUSHALL\r\nPING\r\n`);
    let answer = "";
    while (!answer.includes("PONG")) {
      const [chunk]: unknown[] = await once(socket, "data", { signal: AbortSignal.timeout(10_000) });
      answer += String(chunk);
      if (answer.includes("-")) throw new Error(`Redis refused: ${answer.trim()}`);
    }
  } finally {
    socket.destroy();
  }
}
