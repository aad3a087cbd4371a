// SPDX-License-Identifier: Apache-2.0
import { createLogger } from "@collimate/telemetry";
import { readConfig } from "./config.ts";
import { startApi } from "./start.ts";

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLogger({ service: "api", level: config.logLevel });
  const api = await startApi(config, log);
  log.info({ url: api.url }, "the api is listening");
  let asked = false;
  const stop = (signal: NodeJS.Signals) => {
    if (asked) process.exit(130);
    asked = true;
    log.info({ signal }, "stopping");
    api.stop().then(
      () => process.exit(0),
      (err: unknown) => {
        log.error({ err }, "not everything was closed");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
