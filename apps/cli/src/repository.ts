// SPDX-License-Identifier: Apache-2.0
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout that this program is part of. */
export function repositoryRoot(): string {
  return join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
}
