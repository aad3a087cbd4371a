// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { identify } from "@collimate/embedded";
import { afterEach, expect, test, vi } from "vitest";
import { temporaryState } from "../../test/temporary-state.ts";
import { withStateLock } from "./lock.ts";
import { makeStateDirectories } from "./paths.ts";
import { readUserProfile, removeUserProfile, writeProfiles } from "./profile.ts";
import { ensureSecrets } from "./secrets.ts";

afterEach(() => vi.unstubAllEnvs());

test("secrets are made once and only the owner can read them", async () => {
  await using state = await temporaryState();
  await makeStateDirectories(state.paths);
  const first = await ensureSecrets(state.paths);
  expect(await ensureSecrets(state.paths)).toEqual(first);
  expect(first.adminToken).not.toBe(first.agentSecret);
  expect((await stat(state.paths.secrets)).mode & 0o777).toBe(0o600);
});

test("a damaged secrets file is told, not replaced", async () => {
  await using state = await temporaryState();
  await makeStateDirectories(state.paths);
  await writeFile(state.paths.secrets, '{"agentSecret": "short"}');
  await expect(ensureSecrets(state.paths)).rejects.toThrow(/secrets\.json does not have the expected fields/);
});

test("two commands do not change the platform at once", async () => {
  await using state = await temporaryState();
  await makeStateDirectories(state.paths);
  const second = () => withStateLock(state.paths, async () => "done");
  await withStateLock(state.paths, () => expect(second()).rejects.toThrow(`pid ${process.pid}`));
  expect(await second()).toBe("done");
});

test("the lock of a command that died is taken over", async () => {
  await using state = await temporaryState();
  await makeStateDirectories(state.paths);
  const child = spawn("/bin/sleep", ["60"]);
  await once(child, "spawn");
  await writeFile(state.paths.lock, JSON.stringify(await identify(child.pid ?? 0)));
  const command = () => withStateLock(state.paths, () => readFile(state.paths.lock, "utf8"));
  await expect(command()).rejects.toThrow(/another collimate command/);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await command()).toContain(String(process.pid));
});

test("the profile lands where the SDKs look, and is forgotten only if it is this platform's", async () => {
  await using state = await temporaryState();
  await makeStateDirectories(state.paths);
  const path = join(state.paths.root, "home", "profile.json");
  vi.stubEnv("COLLIMATE_PROFILE", path);
  const profile = { url: "http://127.0.0.1:1", apiKey: "col_pro_x" };
  await writeProfiles(state.paths, profile);
  expect(await readUserProfile()).toEqual(profile);
  expect((await stat(path)).mode & 0o777).toBe(0o600);

  await removeUserProfile({ ...profile, apiKey: "col_pro_other" });
  expect(await readUserProfile()).toEqual(profile);
  await removeUserProfile(profile);
  expect(await readUserProfile()).toBeUndefined();
});
