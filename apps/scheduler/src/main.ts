// SPDX-License-Identifier: Apache-2.0
import { createLogger } from "@collimate/telemetry";
import { ConfigError, readConfig } from "./config.ts";
import { startScheduler } from "./scheduler.ts";

/** Longest that running jobs may take to end after a signal. */
const STOP_MS = 25_000;

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLogger({ service: "scheduler", level: config.logLevel });
  const scheduler = await startScheduler(config, { log });
  const stop = (signal: string) => {
    log.info({ signal }, "the scheduler stops");
    setTimeout(() => {
      log.error("the scheduler did not stop in time");
      process.exit(1);
    }, STOP_MS).unref();
    scheduler.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, "the scheduler did not stop cleanly");
        process.exit(1);
      },
    );
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
}

main().catch((error: unknown) => {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(1);
});
