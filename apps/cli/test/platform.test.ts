// SPDX-License-Identifier: Apache-2.0
import { accessSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isAlive, readRecord } from "@collimate/embedded";
import type { ProcessIdentity } from "@collimate/embedded";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { findSettledLeaks } from "../src/doctor/leaks/find.ts";
import { down } from "../src/down/down.ts";
import { PARTS } from "../src/platform/parts.ts";
import { readUserProfile } from "../src/state/profile.ts";
import { recordPath } from "../src/state/paths.ts";
import { status } from "../src/status/command.ts";
import { up } from "../src/up/up.ts";
import { temporaryState } from "./temporary-state.ts";

const OPTIONS = { host: "127.0.0.1", port: undefined };
const NAMES = PARTS.map((part) => part.name);

function isBuilt(): boolean {
  try {
    accessSync(join(process.env["COLLIMATE_TOOLS"] ?? "/var/cache/collimate", "criu", "criu"));
    return true;
  } catch {
    return false;
  }
}

// The launcher builds what this needs; without it (a lone `vitest` on a machine that is not set up) there is no platform to start.
describe.runIf(process.getuid?.() === 0 && isBuilt())("the whole platform", { timeout: 180_000 }, () => {
  let state: Awaited<ReturnType<typeof temporaryState>>;
  beforeEach(async () => {
    state = await temporaryState();
    vi.stubEnv("COLLIMATE_PROFILE", join(state.paths.root, "..", "profile.json"));
  });
  afterEach(async () => {
    await down(state.paths, false);
    await state[Symbol.asyncDispose]();
    vi.unstubAllEnvs();
  });

  async function identities(): Promise<ProcessIdentity[]> {
    const found = await Promise.all(NAMES.map((name) => readRecord(recordPath(state.paths, name))));
    return found.filter((identity) => identity !== undefined);
  }

  test("comes up with a working key, is found up by a second call, and goes without a trace", async () => {
    const { profile, started } = await up(state.paths, OPTIONS);
    expect(started).toEqual(NAMES);
    expect((await status(state.paths)).map((part) => part.state)).toEqual(NAMES.map(() => "serving"));
    const reply = await fetch(`${profile.url}/v1/templates`, { headers: { authorization: `Bearer ${profile.apiKey}` } });
    expect(reply.status).toBe(200);
    expect(await readUserProfile()).toEqual(profile);

    expect(await up(state.paths, OPTIONS)).toEqual({ profile, started: [] });
    expect(await findSettledLeaks(state.paths, 5_000)).toEqual([]);

    const before = await identities();
    expect(before).toHaveLength(NAMES.length);
    expect((await down(state.paths, false)).stopped).toEqual(NAMES.toReversed());
    expect(await Promise.all(before.map(isAlive))).toEqual(before.map(() => false));
    expect(await findSettledLeaks(state.paths, 0)).toEqual([]);
    expect((await down(state.paths, false)).stopped).toEqual([]);

    // The data outlives a stop, so the key does too.
    expect((await up(state.paths, OPTIONS)).profile.apiKey).toBe(profile.apiKey);
    await down(state.paths, true);
    await expect(stat(state.paths.root)).rejects.toThrow(/ENOENT/);
    expect(await readUserProfile()).toBeUndefined();
  });

  test("a killed agent is started again by up, and what it had left is swept by down", async () => {
    await up(state.paths, OPTIONS);
    const agent = await readRecord(recordPath(state.paths, "agent"));
    process.kill(agent?.pid ?? 0, "SIGKILL");
    await expect.poll(() => readRecord(recordPath(state.paths, "agent"))).toBeUndefined();
    expect((await findSettledLeaks(state.paths, 0)).map((leak) => leak.kind)).toContain("cgroup");

    expect((await up(state.paths, OPTIONS)).started).toEqual(["agent"]);
    const second = await readRecord(recordPath(state.paths, "agent"));
    process.kill(second?.pid ?? 0, "SIGKILL");
    const { swept } = await down(state.paths, false);
    expect(swept.some((line) => line.startsWith("cgroup "))).toBe(true);
    expect(await findSettledLeaks(state.paths, 0)).toEqual([]);
    expect(await readdir(state.paths.run)).not.toContain("agent.json");
  });

  test("an interrupted start leaves nothing running", async () => {
    const interrupt = new AbortController();
    const starting = up(state.paths, OPTIONS, interrupt.signal);
    starting.catch(() => undefined);
    await expect.poll(() => readRecord(recordPath(state.paths, "redis")), { timeout: 60_000 }).toBeDefined();
    interrupt.abort(new Error("interrupted"));
    await expect(starting).rejects.toThrow("interrupted");
    expect(await identities()).toEqual([]);
    expect(await findSettledLeaks(state.paths, 0)).toEqual([]);
  });
});
