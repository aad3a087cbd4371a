// SPDX-License-Identifier: Apache-2.0
/** Connections to Redis: from a URL, with credentials and TLS, that come back by themselves. */
import { Redis, type RedisOptions } from "ioredis";

/** What a connection is for decides how it fails. */
export type ConnectionUse = "producer" | "worker" | "subscriber";

/**
 * `redis://[user[:password]@]host[:port][/db]`, `rediss://` for TLS, or `unix:///path`.
 * A producer's commands fail after a few seconds without a server, so that no request hangs on them; workers and subscribers wait for it to return.
 */
export function connectRedis(url: string, use: ConnectionUse, onError: (error: Error) => void): Redis {
  const connection = new Redis({
    ...parseRedisUrl(url),
    ...OPTIONS[use],
    connectionName: `collimate-${use}`,
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 6), 2_000),
  });
  connection.on("error", onError);
  return connection;
}

const OPTIONS: Record<ConnectionUse, RedisOptions> = {
  producer: { maxRetriesPerRequest: 3, commandTimeout: 5_000, connectTimeout: 5_000 },
  worker: { maxRetriesPerRequest: null, connectTimeout: 5_000 },
  subscriber: { maxRetriesPerRequest: 3, connectTimeout: 5_000, autoResubscribe: true },
};

export function parseRedisUrl(text: string): RedisOptions {
  const url = URL.parse(text);
  if (!url || !["redis:", "rediss:", "unix:"].includes(url.protocol))
    throw new Error("a Redis URL starts with redis://, rediss:// or unix://");
  const credentials = {
    ...(url.username ? { username: decodeURIComponent(url.username) } : {}),
    ...(url.password ? { password: decodeURIComponent(url.password) } : {}),
  };
  if (url.protocol === "unix:") return { ...credentials, path: decodeURIComponent(url.pathname) };
  const db = url.pathname.slice(1);
  if (!/^\d{0,4}$/.test(db)) throw new Error("the path of a Redis URL is a database number");
  const host = url.hostname.replace(/^\[|\]$/g, "") || "127.0.0.1";
  return {
    ...credentials,
    host,
    port: url.port ? Number(url.port) : 6379,
    ...(db ? { db: Number(db) } : {}),
    ...(url.protocol === "rediss:" ? { tls: { servername: host } } : {}),
  };
}
