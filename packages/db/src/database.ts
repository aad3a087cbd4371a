// SPDX-License-Identifier: Apache-2.0
/** A connection to the truth: a bounded pool under Prisma, every wait bounded, closable. */
import { PrismaPg } from "@prisma/adapter-pg";
import { Pool } from "pg";
import { type Prisma, PrismaClient } from "./generated/client.ts";

export interface DatabaseOptions {
  /** Most connections held at once. */
  readonly poolSize?: number;
  /** Longest that one statement may run, in ms; the server ends it. */
  readonly statementTimeoutMs?: number;
  /** Longest that a caller waits for a free connection, in ms. */
  readonly acquireTimeoutMs?: number;
  /** Seen in pg_stat_activity. */
  readonly applicationName?: string;
  /** An idle connection broke (server restart); the pool makes a new one. For the log. */
  readonly onIdleError?: (error: Error) => void;
}

export interface Database extends AsyncDisposable {
  readonly client: PrismaClient;
  /** The pool under the client, for what Prisma cannot say (session locks). */
  readonly pool: Pool;
  /** Rejects unless the server answers within the statement time-out. */
  ping(): Promise<void>;
  /**
   * Runs `work` while holding the session advisory lock `name`, or returns undefined at once when another holds it.
   * The lock goes with the connection, so a crashed holder never blocks the next.
   */
  withLock<T>(name: string, work: () => Promise<T>): Promise<T | undefined>;
  close(): Promise<void>;
}

/** What both the client and a transaction offer. */
export type Tx = Prisma.TransactionClient;

export function openDatabase(url: string, options: DatabaseOptions = {}): Database {
  const statementTimeoutMs = options.statementTimeoutMs ?? 15_000;
  const acquireTimeoutMs = options.acquireTimeoutMs ?? 10_000;
  const pool = new Pool({
    connectionString: url,
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: acquireTimeoutMs,
    idleTimeoutMillis: 30_000,
    statement_timeout: statementTimeoutMs,
    lock_timeout: Math.ceil(statementTimeoutMs / 2),
    idle_in_transaction_session_timeout: statementTimeoutMs * 2,
    // The server's own time-out answers first; this one is for a server that has stopped answering at all.
    query_timeout: statementTimeoutMs + 5_000,
    application_name: options.applicationName ?? "collimate",
    keepAlive: true,
  });
  pool.on("error", (error) => options.onIdleError?.(error));
  const client = new PrismaClient({
    adapter: new PrismaPg(pool),
    transactionOptions: { maxWait: acquireTimeoutMs, timeout: statementTimeoutMs * 2 },
  });

  let closing: Promise<void> | undefined;
  const close = () => (closing ??= client.$disconnect().then(() => pool.end()));
  return {
    client,
    pool,
    async ping() {
      await client.$queryRaw`SELECT 1`;
    },
    async withLock(name, work) {
      const connection = await pool.connect();
      let broken: Error | boolean = false;
      try {
        const answer = await connection.query<{ locked: boolean }>("SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS locked", [
          name,
        ]);
        if (!answer.rows[0]?.locked) return undefined;
        try {
          return await work();
        } finally {
          await connection.query("SELECT pg_advisory_unlock(hashtextextended($1, 0))", [name]).catch((error: Error) => {
            broken = error; // the connection leaves the pool, and the lock with it
          });
        }
      } finally {
        connection.release(broken);
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
