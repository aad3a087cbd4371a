// SPDX-License-Identifier: Apache-2.0
/** Programs of the repository and of the host that a run needs. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

export const repository = join(import.meta.dirname, "../../..");
const LIMIT_MS = 20 * 60_000;

/** Its standard output; throws with what it said on standard error. */
export async function run(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, [...args], { timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}
