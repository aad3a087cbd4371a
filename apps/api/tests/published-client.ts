// SPDX-License-Identifier: Apache-2.0
/** The published Python client, as it is on PyPI, in a virtual environment of its own: an input of tests, never a dependency. */
import { PUBLISHED_VERSION, publishedClient } from "@collimate/testing";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const VERSION = PUBLISHED_VERSION;
/** All that a trainer does, printed as one JSON object. */
export const TRAINER = fileURLToPath(new URL("published_client.py", import.meta.url));

/** Runs Python with the client installed. Gives what it printed, as JSON. */
export async function runPublishedClient(args: readonly string[], apiKey: string, url: string): Promise<unknown> {
  const { python } = await publishedClient();
  const { stdout } = await promisify(execFile)(python, [...args], {
    env: { PATH: "/usr/bin:/bin", COLLIMATE_API_KEY: apiKey, COLLIMATE_BASE_URL: url },
    timeout: 280_000,
  });
  return JSON.parse(stdout);
}
