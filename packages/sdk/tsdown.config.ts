// SPDX-License-Identifier: Apache-2.0
import { defineConfig, type UserConfig } from "tsdown";

const config: UserConfig = defineConfig({
  entry: ["src/index.ts"],
  format: "esm",
  platform: "neutral",
  // `await using` is written with the symbols only, so Node 20 runs what is built for it.
  target: "es2022",
  dts: { oxc: { stripInternal: true } },
  sourcemap: true,
  // Loaded only where a profile file is looked for.
  deps: { neverBundle: ["node:fs/promises"] },
});

export default config;
