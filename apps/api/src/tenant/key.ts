// SPDX-License-Identifier: Apache-2.0
/** API keys: `col_<tier>_<id8>_<secret32>`. Only a hash is ever stored. */
import { API_KEY } from "@collimate/contracts";
import type { Tier } from "@collimate/contracts";
import { createHash, randomInt, timingSafeEqual } from "node:crypto";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";

/** `length` characters of a 36-letter alphabet, each drawn without bias (5.17 bits). */
function randomWord(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
}

export interface NewKey {
  readonly id: string;
  /** The whole key; told once, stored nowhere. */
  readonly key: string;
  readonly hash: string;
}

/** SHA-256 is enough: the secret has 165 random bits, so there is nothing to guess slowly. */
export function hashKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

export function newKey(tier: Tier): NewKey {
  const id = randomWord(8);
  const key = `col_${tier}_${id}_${randomWord(32)}`;
  return { id, key, hash: hashKey(key) };
}

/** The public part of a well-formed key. */
export function keyId(key: string): string | undefined {
  return API_KEY.exec(key)?.[2];
}

/** Constant-time in the content of both; they are compared as digests, so length tells nothing either. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest());
}

/** The token of `Authorization: Bearer <token>`. */
export function bearer(header: string | undefined): string | undefined {
  return /^Bearer +([^\s]{1,512}) *$/i.exec(header ?? "")?.[1];
}
