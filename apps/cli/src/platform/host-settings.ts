// SPDX-License-Identifier: Apache-2.0
import { readFile, rm, writeFile } from "node:fs/promises";
import { z } from "zod";
import { readJson, writeJson } from "../state/json-file.ts";
import type { StatePaths } from "../state/paths.ts";

/** A host-wide setting that makes forks shorter. Changed only when asked for, and put back by `down`. */
export interface HostSetting {
  path: string;
  value: number;
  /** What a person is told about it. */
  why: string;
}

/** A network namespace that is made gets hash tables of the host's size unless told otherwise. */
export const HOST_SETTINGS: readonly HostSetting[] = [
  {
    path: "/proc/sys/net/ipv4/tcp_child_ehash_entries",
    value: 1_024,
    why: "TCP hash table of new network namespaces: about 1 ms of each restore",
  },
  {
    path: "/proc/sys/net/ipv4/udp_child_hash_entries",
    value: 1_024,
    why: "UDP hash table of new network namespaces: about 1 ms of each restore",
  },
];

const savedSchema = z.record(z.string(), z.string());

/** The settings that this kernel has and that are not as they would be best. */
export async function settingsToChange(settings: readonly HostSetting[] = HOST_SETTINGS): Promise<{ setting: HostSetting; now: string }[]> {
  const found: { setting: HostSetting; now: string }[] = [];
  for (const setting of settings) {
    const now = await readFile(setting.path, "utf8").then(
      (text) => text.trim(),
      () => undefined,
    );
    if (now !== undefined && now !== String(setting.value)) found.push({ setting, now });
  }
  return found;
}

/** Changes what can be changed, remembering what was there. Gives a line per change. */
export async function applyHostSettings(paths: StatePaths, settings: readonly HostSetting[] = HOST_SETTINGS): Promise<string[]> {
  const saved = (await readJson(paths.hostSettings, savedSchema)) ?? {};
  const lines: string[] = [];
  for (const { setting, now } of await settingsToChange(settings)) {
    // Remembered first: a crash in between leaves a harmless entry, not a change that nobody undoes.
    saved[setting.path] ??= now;
    await writeJson(paths.hostSettings, saved);
    await writeFile(setting.path, String(setting.value));
    lines.push(`${setting.path}: ${now} -> ${setting.value}`);
  }
  return lines;
}

/** Puts back what applyHostSettings changed. */
export async function undoHostSettings(paths: StatePaths): Promise<string[]> {
  const saved = await readJson(paths.hostSettings, savedSchema);
  if (saved === undefined) return [];
  const lines: string[] = [];
  for (const [path, value] of Object.entries(saved)) {
    await writeFile(path, value);
    lines.push(`${path}: back to ${value}`);
  }
  await rm(paths.hostSettings, { force: true });
  return lines;
}
