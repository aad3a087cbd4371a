// SPDX-License-Identifier: Apache-2.0
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KEY, WireServer } from "../../tests/wire-server.ts";
import { ConfigurationError } from "../errors.ts";
import { connect, type ConnectOptions } from "./connect.ts";

let home: string;
let server: WireServer;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "collimate-home-"));
  server = await WireServer.start();
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await rm(home, { recursive: true });
});

async function writeProfile(text: string): Promise<void> {
  await mkdir(join(home, ".config", "collimate"), { recursive: true });
  await writeFile(join(home, ".config", "collimate", "profile.json"), text);
}
const profile = (): Promise<void> => writeProfile(JSON.stringify({ url: server.url, apiKey: KEY }));
const reaches = async (options: ConnectOptions): Promise<unknown> => (await connect(options)).health();

describe("connect", () => {
  it("finds the profile in the home folder", async () => {
    await profile();
    expect(await reaches({ env: { HOME: home } })).toEqual({ status: "ok" });
  });

  it("finds the profile that a variable names", async () => {
    await profile();
    expect(await reaches({ env: { COLLIMATE_PROFILE: join(home, ".config/collimate/profile.json") } })).toEqual({ status: "ok" });
  });

  it("prefers variables to the profile, and options to variables", async () => {
    await writeProfile(JSON.stringify({ url: "http://127.0.0.1:1", apiKey: "col_pro_other000_x" }));
    expect(await reaches({ env: { HOME: home, COLLIMATE_BASE_URL: server.url, COLLIMATE_API_KEY: KEY } })).toEqual({ status: "ok" });
    const env = { HOME: home, COLLIMATE_BASE_URL: "http://127.0.0.1:1", COLLIMATE_API_KEY: "col_pro_other000_x" };
    expect(await reaches({ env, url: server.url, apiKey: KEY })).toEqual({ status: "ok" });
  });

  it("never sends the profile's key to another server", async () => {
    await profile();
    await expect(connect({ env: { HOME: home }, url: "http://127.0.0.1:1" })).rejects.toThrowError(/that is for/);
  });

  it.each([
    ["no JSON", "{", /no JSON/],
    ["no key", '{"url":"http://x"}', /no apiKey/],
  ])("says what is wrong with a profile: %s", async (_what, text, why) => {
    await writeProfile(text);
    await expect(connect({ env: { HOME: home } })).rejects.toThrowError(why);
  });

  it("says that a named profile is missing, and only that one", async () => {
    await expect(connect({ env: { COLLIMATE_PROFILE: join(home, "nothing.json") } })).rejects.toThrowError(/cannot be read/);
    await expect(connect({ env: { HOME: home } })).rejects.toThrowError(/no API key/);
  });

  it.each(["not a url", "ftp://host"])("refuses %s as an address", async (url) => {
    await expect(connect({ env: {}, url, apiKey: KEY })).rejects.toBeInstanceOf(ConfigurationError);
  });
});
