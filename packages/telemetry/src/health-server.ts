// SPDX-License-Identifier: Apache-2.0
/** /healthz, /readyz and /metrics for a process that has no HTTP surface of its own. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Registry } from "prom-client";

export interface HealthServerOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly registry: Registry;
  /** Rejects, with what is missing in its message, while the process cannot do its work. */
  readonly ready: () => Promise<void>;
  /** Longest that a readiness check may take, in ms. */
  readonly readyTimeoutMs?: number;
}

export interface HealthServer extends AsyncDisposable {
  readonly port: number;
  close(): Promise<void>;
}

export async function serveHealth(options: HealthServerOptions): Promise<HealthServer> {
  const server = createServer((request, response) => {
    answer(request, response, options).catch(() => response.destroy());
  });
  server.headersTimeout = 10_000;
  server.requestTimeout = 10_000;
  server.listen(options.port, options.host);
  await once(server, "listening");
  const address = server.address();
  const close = async () => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { port: typeof address === "object" && address ? address.port : options.port, close, [Symbol.asyncDispose]: close };
}

async function answer(request: IncomingMessage, response: ServerResponse, options: HealthServerOptions): Promise<void> {
  const path = (request.url ?? "/").split("?")[0];
  if (request.method !== "GET" && request.method !== "HEAD") return send(response, 405, { status: "only GET" });
  if (path === "/healthz") return send(response, 200, { status: "ok" });
  if (path === "/readyz") {
    const trouble = await readiness(options);
    return trouble === undefined ? send(response, 200, { status: "ready" }) : send(response, 503, { status: "not ready", reason: trouble });
  }
  if (path === "/metrics") {
    response.writeHead(200, { "content-type": options.registry.contentType });
    return void response.end(await options.registry.metrics());
  }
  send(response, 404, { status: "not found" });
}

async function readiness(options: HealthServerOptions): Promise<string | undefined> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("the check took too long")), options.readyTimeoutMs ?? 3_000);
  try {
    await Promise.race([options.ready(), late.promise]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
