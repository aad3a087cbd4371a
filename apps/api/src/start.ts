// SPDX-License-Identifier: Apache-2.0
/** The api as a whole: everything opened in order, everything closed in the reverse. */
import { openDatabase } from "@collimate/db";
import { openQueues } from "@collimate/queue";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import type { ApiConfig } from "./config.ts";
import { execRoutes } from "./exec/routes.ts";
import { fileRoutes } from "./files/routes.ts";
import { registerMetrics } from "./health/metrics.ts";
import { healthRoutes } from "./health/routes.ts";
import { VERSION } from "./health/service.ts";
import { imageRoutes } from "./image/routes.ts";
import { openApiRoutes } from "./openapi/routes.ts";
import { sandboxRoutes } from "./sandbox/routes.ts";
import { sessionRoutes } from "./sandbox/session-routes.ts";
import { buildServer } from "./server/build.ts";
import type { Platform } from "./server/platform.ts";
import { requireCaller } from "./server/route-context.ts";
import { makeServices } from "./services.ts";
import type { Services } from "./services.ts";
import { templateRoutes } from "./template/routes.ts";
import { adminRoutes } from "./tenant/admin.ts";
import { mountTrpc } from "./trpc/mount.ts";
import { usageRoutes } from "./usage/routes.ts";

/** Connections that the kernel keeps for us: a burst opens hundreds at once, and a refused one is an error to a client. */
const BACKLOG = 4_096;
const POOL_SIZE = 20;

export interface Api extends AsyncDisposable {
  readonly url: string;
  readonly services: Services;
  /** `GET /v1/sandboxes/{id}`; without those that a framework adds by itself. */
  readonly routes: readonly string[];
  /** Takes nothing new, lets what runs end within the drain time, closes everything. */
  stop(): Promise<void>;
}

export async function startApi(config: ApiConfig, log: FastifyBaseLogger): Promise<Api> {
  const onError = (err: Error) => log.warn({ err }, "a connection failed and will be made anew");
  await using opened = new AsyncDisposableStack();
  const database = opened.use(
    openDatabase(config.databaseUrl, { applicationName: "collimate-api", poolSize: POOL_SIZE, onIdleError: onError }),
  );
  const bus = opened.use(openQueues(config.redisUrl, { prefix: config.queuePrefix, onError }));
  const stopping = new AbortController();
  const platform: Platform = { config, database, bus, log, stopping: stopping.signal };
  const services = makeServices(platform);
  opened.use(services.execs);
  opened.use(services.files);
  const app = buildServer(log, { stopping: stopping.signal });
  opened.defer(() => app.close());
  const routes: string[] = [];
  app.addHook("onRoute", ({ method, path }) => {
    for (const verb of [method].flat()) if (verb !== "HEAD") routes.push(`${verb} ${path.replace(/:(\w+)/g, "{$1}")}`);
  });
  await register(app, platform, services);
  await database.ping();
  const url = await app.listen({ host: config.host, port: config.port, backlog: BACKLOG });
  const resources = opened.move();
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= drain(app, stopping, config.drainMs).then(() => resources.disposeAsync()));
  return { url, services, routes, stop, [Symbol.asyncDispose]: stop };
}

async function register(app: FastifyInstance, platform: Platform, services: Services): Promise<void> {
  const registry = registerMetrics(app, () => services.execs.budget.held);
  app.decorateRequest("caller", null);
  healthRoutes(app, services.health, services.authenticator, registry);
  openApiRoutes(app, VERSION);
  adminRoutes(app, services.tenants, platform.config.adminToken);
  await mountTrpc(app, platform, services);
  await app.register(async (v1) => {
    requireCaller(v1, services.authenticator);
    templateRoutes(v1, services.templates);
    imageRoutes(v1, services.images);
    sandboxRoutes(v1, platform, services.sandboxes);
    sessionRoutes(v1, platform, services.sandboxes);
    execRoutes(v1, platform, services.execs);
    fileRoutes(v1, platform, services.files);
    usageRoutes(v1, services.usage);
  });
}

/** Held requests are told at once; running execs may end in time; then the rest is cut. */
async function drain(app: FastifyInstance, stopping: AbortController, drainMs: number): Promise<void> {
  stopping.abort();
  const cut = setTimeout(() => app.server.closeAllConnections(), drainMs);
  try {
    await app.close();
  } finally {
    clearTimeout(cut);
  }
}
