// SPDX-License-Identifier: Apache-2.0
import { join, resolve } from "node:path";
import pg from "pg";
import { serviceAccount, serviceDirectory } from "../account.ts";
import { freePort } from "../port.ts";
import type { StopStep } from "../process/stop.ts";
import { SERVICE_ENV } from "../process/program.ts";
import { startService, withFreePort } from "../service.ts";
import type { Service, StartOptions } from "../service.ts";
import { postgresBinaries } from "./binaries.ts";
import { openCluster, SUPERUSER } from "./cluster.ts";
import type { Cluster } from "./cluster.ts";

export interface PostgresOptions extends StartOptions {
  /** false: quicker, and data is lost when the machine crashes (for tests). Default true. */
  durable?: boolean;
  /** Default 200. */
  maxConnections?: number;
}

export interface Postgres extends Service {
  /** Makes one more empty database and gives its URL: for a test suite that wants a database of its own. */
  createDatabase(name: string): Promise<string>;
}

const DATABASE = "collimate";

/** SIGINT is "fast": ends sessions, writes a checkpoint. SIGQUIT is "immediate". (PostgreSQL manual, 18.5) */
export const POSTGRES_STOP: readonly StopStep[] = [
  { signal: "SIGINT", ms: 10_000 },
  { signal: "SIGQUIT", ms: 5_000 },
  { signal: "SIGKILL", ms: 5_000 },
];

/** Starts PostgreSQL on 127.0.0.1 with a password of its own and an empty database "collimate". */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const dir = resolve(options.dir);
  const [binaries, account] = await Promise.all([postgresBinaries(), serviceAccount()]);
  await serviceDirectory(dir, account);
  const cluster = await openCluster(dir, binaries, account);

  const service = await withFreePort(options.port, freePort, (port) =>
    startService(
      {
        name: "postgres",
        url: urlOf(cluster, port, DATABASE),
        port,
        spec: {
          argv: [join(binaries, "bin", "postgres"), ...settings(cluster, port, options)],
          cwd: cluster.data,
          env: SERVICE_ENV,
          account,
          deathSignal: "SIGINT",
        },
        stopSteps: POSTGRES_STOP,
        probe: () => query(urlOf(cluster, port, "postgres"), "select 1").then(() => undefined),
      },
      { ...options, dir },
    ),
  );
  const createDatabase = (name: string): Promise<string> => makeDatabase(cluster, service.port, name);
  try {
    await createDatabase(DATABASE);
  } catch (error) {
    await service.stop();
    throw error;
  }
  return { ...service, createDatabase };
}

function settings(cluster: Cluster, port: number, options: PostgresOptions): string[] {
  const values: Record<string, string | number> = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: options.maxConnections ?? 200,
    shared_buffers: "128MB",
    timezone: "UTC",
    log_timezone: "UTC",
    log_min_duration_statement: 1000,
    ...(options.durable === false ? { fsync: "off", synchronous_commit: "off", full_page_writes: "off" } : {}),
  };
  return ["-D", cluster.data, ...Object.entries(values).flatMap(([key, value]) => ["-c", `${key}=${value}`])];
}

async function makeDatabase(cluster: Cluster, port: number, name: string): Promise<string> {
  const admin = urlOf(cluster, port, "postgres");
  const found = await query(admin, "select 1 from pg_database where datname = $1", [name]);
  if (found === 0) await query(admin, `create database ${pg.escapeIdentifier(name)}`);
  return urlOf(cluster, port, name);
}

/** Runs one statement on a connection of its own; gives the number of rows. */
async function query(url: string, text: string, values: string[] = []): Promise<number> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 30_000 });
  client.on("error", () => undefined); // a lost connection also rejects the call below
  try {
    await client.connect();
    return (await client.query(text, values)).rows.length;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function urlOf(cluster: Cluster, port: number, database: string): string {
  return `postgres://${SUPERUSER}:${cluster.password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
}
