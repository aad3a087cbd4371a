// SPDX-License-Identifier: Apache-2.0
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { statePaths } from "../src/state/paths.ts";
import type { StatePaths } from "../src/state/paths.ts";

/** A state directory of a test's own; `await using` removes it. */
export async function temporaryState(): Promise<{ paths: StatePaths } & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), "collimate-cli-"));
  await chmod(dir, 0o711); // the data services' account passes through
  return { paths: statePaths(join(dir, "state")), [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
}
