// SPDX-License-Identifier: Apache-2.0
/** Seeds: 64 hexadecimal digits that fix a sandbox's randomness. */
import { ConfigurationError } from "../errors.ts";

/** The seed of `deterministic` groups that name none. */
export const DETERMINISTIC_SEED: string = "deadbeef".repeat(8);

/**
 * `vanilla`: every child draws its own randomness. `crn` (common random numbers): all children have one seed, a fresh one
 * unless given. `deterministic`: all have one seed that is always the same.
 */
export type SeedMode = "vanilla" | "crn" | "deterministic";

export function isSeed(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-fA-F]{64}$/.test(value);
}

export function freshSeed(): string {
  return hex(crypto.getRandomValues(new Uint8Array(32)));
}

/** SHA-256 of salt, a NUL and key: the same key gives the same seed, in every client of this platform. */
export async function seedFromKey(key: string, salt = ""): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${salt}\0${key}`))));
}

/** One seed, or null for none, per child. */
export function groupSeeds(count: number, mode: SeedMode = "crn", base?: string): (string | null)[] {
  if (!Number.isInteger(count) || count < 0) throw new ConfigurationError(`not a number of children: ${count}`);
  if (base !== undefined && !isSeed(base)) throw new ConfigurationError("a seed is exactly 64 hexadecimal digits");
  const seed = mode === "vanilla" ? null : (base ?? (mode === "crn" ? freshSeed() : DETERMINISTIC_SEED));
  return Array.from({ length: count }, () => seed);
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
