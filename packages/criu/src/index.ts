// SPDX-License-Identifier: Apache-2.0
export { dump, type DumpOptions, type DumpResult } from "./dump.ts";
export { CriuError, type CriuErrorCode } from "./error.ts";
export { type CriuProgram, RUN_DIRECTORY, type TreeOptions } from "./flags.ts";
export { freeze, type FrozenCgroup } from "./freezer.ts";
export {
  attachHolder,
  type DeriveOptions,
  Holder,
  type HolderRestored,
  type HolderRestoreOptions,
  type HolderStat,
  startHolder,
  type StartHolderOptions,
} from "./holder.ts";
export { probe, type ProbeOptions, type ProbeResult } from "./probe.ts";
export { restore, type RestoreOptions } from "./restore.ts";
export { type DumpStats, parseDumpStats, readDumpStats } from "./stats.ts";
