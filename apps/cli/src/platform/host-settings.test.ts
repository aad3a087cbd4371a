// SPDX-License-Identifier: Apache-2.0
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryState } from "../../test/temporary-state.ts";
import { makeStateDirectories } from "../state/paths.ts";
import { applyHostSettings, settingsToChange, undoHostSettings } from "./host-settings.ts";

test("a changed setting is put back as it was, even when it was changed twice", async () => {
  await using state = await temporaryState();
  await makeStateDirectories(state.paths);
  // Plain files in place of the kernel's: the same reads and writes.
  const path = join(state.paths.root, "hashsize");
  await writeFile(path, "262144\n");
  const settings = [
    { path, value: 4_096, why: "" },
    { path: join(state.paths.root, "not-there"), value: 1, why: "" },
  ];

  expect(await applyHostSettings(state.paths, settings)).toEqual([`${path}: 262144 -> 4096`]);
  await writeFile(path, "8192");
  await applyHostSettings(state.paths, settings);
  expect(await readFile(path, "utf8")).toBe("4096");
  expect(await settingsToChange(settings)).toEqual([]);

  expect(await undoHostSettings(state.paths)).toEqual([`${path}: back to 262144`]);
  expect(await readFile(path, "utf8")).toBe("262144");
  await expect(stat(state.paths.hostSettings)).rejects.toThrow(/ENOENT/);
  expect(await undoHostSettings(state.paths)).toEqual([]);
});
