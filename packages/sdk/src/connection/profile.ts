// SPDX-License-Identifier: Apache-2.0
/** The file that `collimate up` leaves for clients: {"url", "apiKey"}. */
import { ConfigurationError } from "../errors.ts";
import { record, text } from "../json.ts";

export interface Profile {
  readonly url: string;
  readonly apiKey: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const PROFILE_MAX_BYTES = 64 * 1024;

/** $COLLIMATE_PROFILE, else ~/.config/collimate/profile.json ($XDG_CONFIG_HOME is honoured); undefined where there is no home. */
export function profilePath(env: Environment): string | undefined {
  if (env["COLLIMATE_PROFILE"]) return env["COLLIMATE_PROFILE"];
  const home = env["HOME"] || env["USERPROFILE"];
  const base = env["XDG_CONFIG_HOME"] || (home ? `${home}/.config` : undefined);
  return base === undefined ? undefined : `${base}/collimate/profile.json`;
}

/** Reads the profile; undefined if there is none. One that was named but is missing, or does not parse, is an error. */
export async function readProfile(env: Environment): Promise<Profile | undefined> {
  const path = profilePath(env);
  if (path === undefined) return undefined;
  const content = await readText(path, env["COLLIMATE_PROFILE"] !== undefined);
  if (content === undefined) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(content);
  } catch (cause) {
    throw new ConfigurationError(`${path} is no JSON`, { cause });
  }
  const profile = { url: text(record(json), "url"), apiKey: text(record(json), "apiKey") };
  if (profile.url === "" || profile.apiKey === "") throw new ConfigurationError(`${path} has no url or no apiKey`);
  return profile;
}

async function readText(path: string, mustExist: boolean): Promise<string | undefined> {
  // Only here is a file read, so that the package loads where there is no file system.
  const { readFile } = await import("node:fs/promises");
  try {
    const bytes = await readFile(path);
    if (bytes.byteLength > PROFILE_MAX_BYTES) throw new ConfigurationError(`${path} is no profile: ${bytes.byteLength} bytes`);
    return bytes.toString("utf8");
  } catch (cause) {
    const missing = cause instanceof Error && "code" in cause && cause.code === "ENOENT";
    if (missing && !mustExist) return undefined;
    if (cause instanceof ConfigurationError) throw cause;
    throw new ConfigurationError(`${path} cannot be read`, { cause });
  }
}
