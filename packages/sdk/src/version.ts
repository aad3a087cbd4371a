// SPDX-License-Identifier: Apache-2.0
import manifest from "../package.json" with { type: "json" };

export const VERSION: string = manifest.version;
