// SPDX-License-Identifier: Apache-2.0
/** Reads replies of a server that may be older or newer than this client: what is missing or odd becomes the fallback. */
export type Json = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function record(value: unknown): Json {
  return isRecord(value) ? value : {};
}

export function text(json: Json, key: string, fallback = ""): string {
  const value = json[key];
  return typeof value === "string" ? value : fallback;
}

export function number(json: Json, key: string, fallback: number): number {
  const value = json[key];
  return typeof value === "number" ? value : fallback;
}

export function flag(json: Json, key: string): boolean {
  return json[key] === true;
}

export function records(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function stringMap(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(record(value)).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.fromEntries(entries);
}

/** The value if it is one of `words`, else `fallback`. */
export function word<const W extends string>(json: Json, key: string, words: readonly W[], fallback: W): W {
  return words.find((candidate) => candidate === json[key]) ?? fallback;
}
