// SPDX-License-Identifier: Apache-2.0
import { Client } from "../client.ts";
import { ConfigurationError } from "../errors.ts";
import { Http } from "../transport/http.ts";
import { type Environment, readProfile } from "./profile.ts";

const TIMEOUT_MS = 130_000;
const PATIENCE_MS = 600_000;
const RETRIES = 4;

export interface ConnectOptions {
  /** Address of the server. Default: $COLLIMATE_BASE_URL, else the profile's. */
  readonly url?: string;
  /** `col_...`. Default: $COLLIMATE_API_KEY, else the profile's. */
  readonly apiKey?: string;
  /** Longest wait for one answer, in ms. Default 130,000: the server holds a request for up to 110 s. */
  readonly timeoutMs?: number;
  /** How long a call is repeated while the server has no room or is away, in ms. Default 600,000. */
  readonly patienceMs?: number;
  /** How often a call is repeated after another passing failure. Default 4. */
  readonly retries?: number;
  /** For proxies and tests. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** Where variables are looked up. Default: `process.env`. */
  readonly env?: Environment;
}

/**
 * A client of a Collimate server. Address and key come from the options, else from `COLLIMATE_BASE_URL` and
 * `COLLIMATE_API_KEY`, else from the profile file that `collimate up` writes ($COLLIMATE_PROFILE, else
 * ~/.config/collimate/profile.json). Sends nothing yet.
 *
 * @throws {ConfigurationError} if there is no key or no address.
 * @example
 * await using client = await connect();
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const env = options.env ?? ambient();
  const given = { url: options.url || env["COLLIMATE_BASE_URL"], apiKey: options.apiKey || env["COLLIMATE_API_KEY"] };
  const profile = given.url && given.apiKey ? undefined : await readProfile(env);
  const apiKey = given.apiKey || profile?.apiKey;
  const url = given.url || profile?.url;
  if (!apiKey)
    throw new ConfigurationError("no API key: pass apiKey, set COLLIMATE_API_KEY, or run `collimate up`, which writes a profile");
  if (!url) throw new ConfigurationError("no address: pass url, set COLLIMATE_BASE_URL, or run `collimate up`, which writes a profile");
  // A key is for the server it was made at.
  if (given.url && !given.apiKey && profile && normal(given.url) !== normal(profile.url)) {
    throw new ConfigurationError(
      `the only key at hand is the profile's, and that is for ${profile.url}: pass apiKey or set COLLIMATE_API_KEY for ${given.url}`,
    );
  }
  return new Client(
    new Http({
      url: normal(url),
      apiKey,
      fetch: options.fetch ?? globalThis.fetch,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      patienceMs: options.patienceMs ?? PATIENCE_MS,
      retries: options.retries ?? RETRIES,
    }),
  );
}

/** The origin and path prefix, without a slash at the end. */
function normal(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch (cause) {
    throw new ConfigurationError(`not an address: ${url}`, { cause });
  }
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") throw new ConfigurationError(`not an http address: ${url}`);
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, "")}`;
}

function ambient(): Environment {
  return typeof process === "undefined" ? {} : process.env;
}
