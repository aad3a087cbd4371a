// SPDX-License-Identifier: Apache-2.0
/** schema.prisma and the SQL migrations are written apart; this holds them together. */
import { readFile } from "node:fs/promises";
import { freshDatabase } from "@collimate/testing";
import { Client } from "pg";
import { expect, it } from "vitest";
import { migrate } from "./index.ts";

interface Column {
  type: string;
  nullable: boolean;
  hasDefault: boolean;
}
/** table -> column -> what it is */
type Tables = Record<string, Record<string, Column>>;

const SQL_TYPE: Record<string, string> = {
  String: "text",
  Int: "integer",
  BigInt: "bigint",
  Float: "double precision",
  Boolean: "boolean",
  Json: "jsonb",
  DateTime: "timestamp with time zone",
};

it("has the same tables, columns, types, nullability and defaults as the migrations make", async () => {
  const wanted = await declared();
  expect(Object.keys(wanted).length).toBeGreaterThan(5);
  await withMigrated(async (client) => expect(await existing(client)).toEqual(wanted));
});

it("has the same unique and plain indexes, besides the partial ones", async () => {
  const wanted = (await models()).flatMap(({ table, body }) =>
    [...body.matchAll(/@@(unique|index)\(\[([^\]]+)\]\)/g)].map(([, kind, columns]) => `${kind} ${table} ${columns?.replace(/\s/g, "")}`),
  );
  const query = `
    SELECT CASE WHEN i.indisunique THEN 'unique' ELSE 'index' END || ' ' || t.relname || ' ' || string_agg(a.attname, ',' ORDER BY array_position(i.indkey::int2[], a.attnum)) AS text
    FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace AND n.nspname = 'public'
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (i.indkey)
    WHERE NOT i.indisprimary AND i.indpred IS NULL GROUP BY i.indexrelid, i.indisunique, t.relname`;
  await withMigrated(async (client) => {
    const { rows } = await client.query<{ text: string }>(query);
    expect(rows.map((row) => row.text).toSorted()).toEqual(wanted.toSorted());
  });
});

async function models(): Promise<{ table: string; body: string }[]> {
  const text = await readFile(new URL("../prisma/schema.prisma", import.meta.url), "utf8");
  return [...text.matchAll(/^model \w+ \{\n([\s\S]*?)^\}/gm)].map(([, body = ""]) => ({
    table: /@@map\("(\w+)"\)/.exec(body)?.[1] ?? "",
    body,
  }));
}

async function declared(): Promise<Tables> {
  const field = /^ {2}(\w+)\s+(\w+)(\[\])?(\?)?(?=\s|$)(.*)$/gm;
  const tables: Tables = {};
  for (const { table, body } of await models()) {
    const columns: Record<string, Column> = {};
    for (const [, name = "", type = "", list, optional, rest = ""] of body.matchAll(field)) {
      const sql = SQL_TYPE[type];
      if (sql === undefined) continue; // a relation
      columns[name] = { type: list ? "ARRAY" : sql, nullable: optional !== undefined, hasDefault: rest.includes("@default") };
    }
    tables[table] = columns;
  }
  return tables;
}

async function existing(client: Client): Promise<Tables> {
  const { rows } = await client.query<{
    table_name: string;
    column_name: string;
    data_type: string;
    is_nullable: string;
    column_default: string | null;
  }>(
    `SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> 'schema_migrations'`,
  );
  const tables: Tables = {};
  for (const row of rows) {
    (tables[row.table_name] ??= {})[row.column_name] = {
      type: row.data_type,
      nullable: row.is_nullable === "YES",
      hasDefault: row.column_default !== null,
    };
  }
  return tables;
}

async function withMigrated(work: (client: Client) => Promise<void>): Promise<void> {
  const url = await freshDatabase();
  await migrate(url);
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
