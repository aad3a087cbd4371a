// SPDX-License-Identifier: Apache-2.0
/** Writes docs/errors anew: `node docs/generate-errors.ts`. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorPages } from "./error-pages.ts";

const FOLDER = join(import.meta.dirname, "errors");
rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER);
for (const [name, text] of errorPages()) writeFileSync(join(FOLDER, name), text);
