// SPDX-License-Identifier: Apache-2.0
import { connect } from "node:net";

/** Asks a Redis whether it serves: AUTH, then PING. Rejects with its answer while it loads its data or refuses. */
export function ping(port: number, password: string, timeoutMs = 1_000): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, timeout: timeoutMs });
    let answer = "";
    const finish = (error?: Error): void => {
      socket.destroy();
      if (error === undefined) resolve();
      else reject(error);
    };
    socket.once("connect", () => socket.write(command("AUTH", password) + command("PING")));
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
      if (answer === "+OK\r\n+PONG\r\n") finish();
      else if (answer.includes("-") || answer.length > 1_024) finish(new Error(`Redis answered ${answer.slice(0, 200).trim()}`));
    });
    socket.once("timeout", () => finish(new Error("Redis does not answer")));
    socket.once("error", finish);
    socket.once("close", () => finish(new Error("Redis closed the connection")));
  });
}

/** The Redis protocol's form of a command: an array of bulk strings. */
function command(...words: string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`;
}
