// SPDX-License-Identifier: Apache-2.0
import { readFile, rename, writeFile } from "node:fs/promises";
import type { z } from "zod";
import { Complaint } from "../complaint.ts";

/** Reads a JSON file of ours; undefined when there is none. A damaged one is an error, not "none". */
export async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw damaged(path, "is not JSON", cause);
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw damaged(path, "does not have the expected fields", parsed.error);
  return parsed.data;
}

/** Writes whole or not at all; only the owner may read it (secrets live in such files). */
export async function writeJson(path: string, value: unknown): Promise<void> {
  const fresh = `${path}.${process.pid}.new`;
  await writeFile(fresh, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(fresh, path);
}

function damaged(path: string, what: string, cause: unknown): Complaint {
  return new Complaint(`${path} ${what}`, { hint: "Move the file away; it is written anew.", cause });
}
