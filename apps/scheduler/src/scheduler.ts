// SPDX-License-Identifier: Apache-2.0
/** A running scheduler. Several may run at once: every change is a compare-and-set in Postgres. */
import { openDatabase } from "@collimate/db";
import { type JobWorker, openQueues, type Queues } from "@collimate/queue";
import { type HealthServer, type Logger, serveHealth } from "@collimate/telemetry";
import type { Config } from "./config.ts";
import type { Context } from "./context.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { RoomCounter } from "./node/room.ts";
import { PlacementLoop } from "./placement/loop.ts";
import { placementPass } from "./placement/pass.ts";
import { applyReport } from "./report/apply.ts";
import { Sweeper } from "./sweep/sweeper.ts";

export interface SchedulerOptions {
  readonly log: Logger;
  /** The clock that deadlines are judged by; the real one by default. */
  readonly now?: () => Date;
}

export interface Scheduler extends AsyncDisposable {
  readonly ctx: Context;
  /** Of /healthz, /readyz and /metrics. */
  readonly port: number;
  /** Resolves when everything that waits has been looked at once more. */
  placeAll(): Promise<void>;
  /** Ends what is under way, then closes every connection. */
  close(): Promise<void>;
}

/** Wake-ups collapse in the loop, so each may wait there for its pass. */
const PLACEMENT_CONCURRENCY = 64;
const REPORT_CONCURRENCY = 8;

export async function startScheduler(config: Config, options: SchedulerOptions): Promise<Scheduler> {
  await using started = new AsyncDisposableStack();
  const { log } = options;
  const metrics = createMetrics();
  const db = started.use(
    openDatabase(config.databaseUrl, {
      poolSize: config.dbPool,
      applicationName: "collimate-scheduler",
      onIdleError: (error) => log.warn({ err: error }, "a database connection broke"),
    }),
  );
  await db.ping();
  const queues = started.use(openQueues(config.redisUrl, queueOptions(config, log, metrics)));
  const loop: PlacementLoop = new PlacementLoop(() => placementPass(ctx));
  started.defer(() => loop.close());
  const ctx: Context = {
    room: new RoomCounter(db, config.policy, log),
    db,
    queues,
    log,
    metrics,
    policy: config.policy,
    now: options.now ?? (() => new Date()),
    wakePlacement: () => wake(loop, log),
  };
  const health = started.use(await serve(config, ctx));
  for (const worker of startWorkers(queues, ctx, loop)) started.use(worker);
  const sweeper = new Sweeper(ctx);
  started.defer(() => sweeper.close());
  log.info({ port: health.port }, "the scheduler is running");
  const running = started.move();
  return {
    ctx,
    port: health.port,
    placeAll: () => loop.wake(),
    close: () => running.disposeAsync(),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function queueOptions(config: Config, log: Logger, metrics: Metrics): Parameters<typeof openQueues>[1] {
  return {
    prefix: config.queuePrefix,
    onError: (error) => log.warn({ err: error }, "Redis trouble"),
    onDeadLetter: (letter) => {
      metrics.deadLetters.inc({ queue: letter.queue });
      log.error({ ...letter, deadLetter: true }, "a job was given up");
    },
  };
}

function startWorkers(queues: Queues, ctx: Context, loop: PlacementLoop): JobWorker[] {
  return [
    queues.placementWorker(() => loop.wake(), { concurrency: PLACEMENT_CONCURRENCY }),
    queues.reportWorker(async (report) => void (await applyReport(ctx, report)), { concurrency: REPORT_CONCURRENCY }),
  ];
}

function wake(loop: PlacementLoop, log: Logger): void {
  loop.wake().catch((error: unknown) => log.error({ err: error }, "a placement pass failed; the sweep will start another"));
}

function serve(config: Config, { db, queues, metrics }: Context): Promise<HealthServer> {
  const ready = async () => void (await Promise.all([db.ping(), queues.ping()]));
  return serveHealth({ host: config.host, port: config.port, registry: metrics.registry, ready });
}
