// SPDX-License-Identifier: Apache-2.0
/** Applies migrations/*.sql in order, each in a transaction, one runner at a time. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { Client } from "pg";

const FOLDER = new URL("../migrations/", import.meta.url);
/** Any constant will do, as long as every runner takes the same. */
const LOCK = 7_260_321_001;

export interface MigrateOptions {
  /** Longest wait for another runner, and for one migration, in ms. */
  readonly timeoutMs?: number;
}

interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/** Brings the database at `url` up to date and returns the names of what was applied now. Safe to call from many processes at once. */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<string[]> {
  const timeoutMs = options.timeoutMs ?? 60_000;
  const migrations = await readMigrations();
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    statement_timeout: timeoutMs,
    lock_timeout: timeoutMs,
    application_name: "collimate-migrate",
  });
  await client.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [LOCK]);
    await client.query(
      `CREATE TABLE IF NOT EXISTS "schema_migrations" ("name" TEXT PRIMARY KEY, "checksum" TEXT NOT NULL, "appliedAt" TIMESTAMPTZ(3) NOT NULL DEFAULT now())`,
    );
    const known = await client.query<{ name: string; checksum: string }>(`SELECT "name", "checksum" FROM "schema_migrations"`);
    const applied = new Map(known.rows.map((row) => [row.name, row.checksum]));
    const fresh = migrations.filter((migration) => isMissing(migration, applied));
    for (const migration of fresh) await apply(client, migration);
    return fresh.map((migration) => migration.name);
  } finally {
    await client.end(); // ends the session and with it the lock
  }
}

async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, FOLDER), "utf8");
      return { name, sql, checksum: createHash("sha256").update(sql).digest("hex") };
    }),
  );
}

function isMissing(migration: Migration, applied: Map<string, string>): boolean {
  const checksum = applied.get(migration.name);
  if (checksum !== undefined && checksum !== migration.checksum) {
    throw new Error(`migration ${migration.name} was changed after it had been applied to this database; add a new migration instead`);
  }
  return checksum === undefined;
}

async function apply(client: Client, migration: Migration): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query(migration.sql);
    await client.query(`INSERT INTO "schema_migrations" ("name", "checksum") VALUES ($1, $2)`, [migration.name, migration.checksum]);
    await client.query("COMMIT");
  } catch (cause) {
    await client.query("ROLLBACK");
    throw new Error(`migration ${migration.name} failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
