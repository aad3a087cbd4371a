// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, readFile, rm, chmod, lstat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { postgresBinaries } from "./binaries.ts";
import { startPostgres } from "./postgres.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "collimate-test-"));
  await chmod(dir, 0o711);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function rows(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text, rowMode: "array" })).rows.flat();
  } finally {
    await client.end();
  }
}

test("data outlives a stop and a start on the same directory", async () => {
  {
    await using first = await startPostgres({ dir });
    await rows(first.url, "create table kept as select 'still here' as word");
  }
  await using second = await startPostgres({ dir });
  expect(await rows(second.url, "select word from kept")).toEqual(["still here"]);
});

test("it is a current PostgreSQL with UTF-8 and sorting that does not depend on the machine", async () => {
  await using postgres = await startPostgres({ dir, durable: false });
  const [version] = await rows(postgres.url, "show server_version_num");
  expect(Number(version)).toBeGreaterThanOrEqual(180_000);
  expect(await rows(postgres.url, "select 'a' > 'B'")).toEqual([true]);
  expect(await rows(postgres.url, "show server_encoding")).toEqual(["UTF8"]);
});

test("a wrong password is refused", async () => {
  await using postgres = await startPostgres({ dir, durable: false });
  const wrong = new URL(postgres.url);
  wrong.password = "wrong";
  await expect(rows(wrong.href, "select 1")).rejects.toThrow(/password authentication failed/);
});

test("each extra database is empty and of its own", async () => {
  await using postgres = await startPostgres({ dir, durable: false });
  const one = await postgres.createDatabase("suite_one");
  const two = await postgres.createDatabase('suite "two"');
  await rows(one, "create table t ()");
  expect(await rows(two, "select count(*)::int from pg_tables where schemaname = 'public'")).toEqual([0]);
  expect(await postgres.createDatabase("suite_one")).toBe(one);
});

test.runIf(process.getuid?.() === 0)("it does not run as root, and its account cannot read the password file", async () => {
  await using postgres = await startPostgres({ dir, durable: false });
  const status = await readFile(`/proc/${postgres.pid}/status`, "utf8");
  const [, uid] = /^Uid:\s+(\d+)/m.exec(status) ?? [];
  expect(Number(uid)).toBeGreaterThan(0);
  expect((await lstat(join(dir, "password"))).mode & 0o777).toBe(0o600);
});

test("a taken port is an error that shows the log", async () => {
  await using holder = await startPostgres({ dir: join(dir, "a"), durable: false });
  await expect(startPostgres({ dir: join(dir, "b"), durable: false, port: holder.port })).rejects.toThrow(
    /ended while starting[^]*already in use/i,
  );
});

test("two processes may unpack the binaries at the same time", async () => {
  const tools = join(dir, "tools");
  const [one, two] = await Promise.all([postgresBinaries(tools), postgresBinaries(tools)]);
  expect(one).toBe(two);
  expect((await lstat(join(one, "lib", "libpq.so.5"))).isSymbolicLink()).toBe(true);
});
