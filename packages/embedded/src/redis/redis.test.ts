// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { mkdtemp, rm, chmod } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ping } from "./ping.ts";
import { startRedis } from "./redis.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "collimate-test-"));
  await chmod(dir, 0o711);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Sends inline commands after the password and gives all that Redis answers. */
async function talk(url: string, ...lines: string[]): Promise<string> {
  const { port, password } = new URL(url);
  const socket = connect(Number(port), "127.0.0.1");
  const words = password === "" ? lines : [`AUTH ${password}`, ...lines];
  socket.end(`${[...words, "QUIT"].join("\r\n")}\r\n`);
  let answer = "";
  socket.on("data", (chunk) => (answer += chunk.toString()));
  await once(socket, "close");
  return answer;
}

test("what was written outlives a stop and a start on the same directory", async () => {
  {
    await using first = await startRedis({ dir });
    expect(await talk(first.url, "SET word kept")).toContain("+OK");
  }
  await using second = await startRedis({ dir });
  expect(await talk(second.url, "GET word")).toContain("kept");
});

test("nobody gets in without the password", async () => {
  await using redis = await startRedis({ dir });
  const open = new URL(redis.url);
  open.password = "";
  expect(await talk(open.href, "GET word")).toContain("NOAUTH");
  await expect(ping(redis.port, "wrong")).rejects.toThrow(/WRONGPASS/);
});

test("it refuses rather than forgets when its memory is full", async () => {
  await using redis = await startRedis({ dir });
  const answer = await talk(redis.url, "CONFIG SET maxmemory 1", "SET word lost");
  expect(answer).toContain("OOM");
});

test.runIf(process.getuid?.() === 0)("a directory that its account cannot reach is told by name", async () => {
  await chmod(dir, 0o700);
  await expect(startRedis({ dir: join(dir, "redis") })).rejects.toThrow(`${dir} is closed to the account collimate-data`);
});
