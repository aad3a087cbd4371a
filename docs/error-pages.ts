// SPDX-License-Identifier: Apache-2.0
/** The pages that `doc_url` of an error leads to, made from the catalogue. */
import { ERRORS, type ErrorRow } from "@collimate/contracts";

const NOTE = "<!-- Made from the error catalogue in packages/contracts by `node docs/generate-errors.ts`. Do not edit. -->";

/** File name to text. */
export function errorPages(): Map<string, string> {
  const rows = Object.entries<ErrorRow>(ERRORS);
  return new Map([["README.md", index(rows)], ...rows.map(([code, row]): [string, string] => [`${code}.md`, page(code, row)])]);
}

function index(rows: readonly [string, ErrorRow][]): string {
  const lines = rows.map(([code, row]) => `| [\`${code}\`](${code}.md) | ${row.status} | ${row.retryable ? "yes" : "no"} | ${row.hint} |`);
  return [
    NOTE,
    "# Errors",
    [
      "Every error reply, on every route, is a JSON object with these fields, all of them strings but `retryable`:",
      "`code` (a word of the list below), `message` (what happened, to what), `hint` (what to do), `retryable` (whether the same",
      "request may succeed later), `request_id` (finds the request in the server's log), `doc_url` (the page of the code), and",
      "`error` and `error_code` for older clients (the message again, and the code, or the word that the session routes have for it).",
      "`detail`, where it is there, holds the last lines of a log.",
    ].join("\n"),
    "A retryable error comes with a `Retry-After` header. A program that fails inside a sandbox is no error: its exit code is in the reply.",
    ["| code | status | retryable | what to do |", "| --- | --- | --- | --- |", ...lines].join("\n"),
    "",
  ].join("\n\n");
}

function page(code: string, row: ErrorRow): string {
  const daemon =
    row.daemonCode === undefined ? [] : [`On the session routes (\`/v1/sessions\`, \`/v1/exec\`) \`error_code\` is \`${row.daemonCode}\`.`];
  const again = row.retryable ? "The same request may succeed later." : "The same request will fail again.";
  return [NOTE, `# ${code}`, `HTTP status ${row.status}. ${again}`, row.hint, ...daemon, "[All errors](README.md)", ""].join("\n\n");
}
