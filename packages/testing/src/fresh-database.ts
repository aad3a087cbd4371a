// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { inject } from "vitest";
import type { Provided } from "./provided.ts";

/** An empty database of its own on the test run's Postgres; gives its URL. Gone with the server. */
export async function freshDatabase(): Promise<string> {
  const server = inject("postgresUrl" satisfies Provided);
  const name = `test_${randomBytes(6).toString("hex")}`;
  const client = new Client({ connectionString: server, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${name}`);
  } finally {
    await client.end();
  }
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
