// SPDX-License-Identifier: Apache-2.0
/** Logs as JSON lines, without secrets. Ids of requests, operations and sandboxes travel as bindings (`logger.child({ operationId })`). */
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";

export type { Logger } from "pino";

export interface LoggerOptions {
  /** Name of the service, on every line. */
  readonly service: string;
  readonly level?: string;
  /** Where lines go; standard output by default. */
  readonly destination?: { write(line: string): void };
}

/** Names of fields that are never written, at the top and one or two levels down. */
const SECRET_FIELDS = ["authorization", "cookie", "apiKey", "api_key", "token", "password", "secret", "adminToken", "agentSecret"];
const PATHS = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

export function createLogger(options: LoggerOptions): Logger {
  const out = options.destination ?? process.stdout;
  const destination: DestinationStream = { write: (line) => void out.write(hideSecrets(line)) };
  return pino(
    {
      level: options.level ?? "info",
      base: { service: options.service },
      timestamp: stdTimeFunctions.isoTime,
      redact: { paths: PATHS, censor: "[hidden]" },
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
}

/** API keys keep their public part; bearer tokens, JWTs and passwords in URLs go. Secrets also hide inside error messages, so whole lines are searched. */
export function hideSecrets(line: string): string {
  return line
    .replace(/\bcol_([a-z]+)_([a-z0-9]{8})_[A-Za-z0-9]+/g, "col_$1_$2_[hidden]")
    .replace(/\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]+/gi, "$1 [hidden]")
    .replace(/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, "[hidden]")
    .replace(/(\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/"\\]*):[^\s@/"\\]+@/gi, "$1:[hidden]@");
}
