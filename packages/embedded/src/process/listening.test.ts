// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { expect, test } from "vitest";
import { listensOn } from "./listening.ts";

async function listening(host: string) {
  const server = createServer();
  server.listen(0, host);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { port: address.port, server, [Symbol.asyncDispose]: async () => void (server.close(), await once(server, "close")) };
}

test.each(["127.0.0.1", "0.0.0.0", "::1", "::"])(
  "a process listens on the port that it serves on %s, and no other process does",
  async (host) => {
    await using mine = await listening(host);
    expect(await listensOn(process.pid, mine.port)).toBe(true);
    expect(await listensOn(process.ppid, mine.port)).toBe(false);
  },
);

test("a connection to a port is not listening on it, nor is a process that has gone", async () => {
  await using mine = await listening("127.0.0.1");
  const client = connect({ host: "127.0.0.1", port: mine.port });
  await once(client, "connect");
  const own = client.localPort ?? 0;
  expect(await listensOn(process.pid, own)).toBe(false);
  client.destroy();
  // Over the kernel's limit for pids (proc(5), pid_max).
  expect(await listensOn(2 ** 22 + 1, mine.port)).toBe(false);
});
