// SPDX-License-Identifier: Apache-2.0
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { wireTypes } from "./wire-types.ts";

writeFileSync(join(import.meta.dirname, "..", "src", "wire.generated.ts"), wireTypes());
