// SPDX-License-Identifier: Apache-2.0
import { readFile, writeFile } from "node:fs/promises";

/** A control group could not be made, changed or removed; the message names the file and the kernel's answer. */
export class CgroupError extends Error {
  override readonly name = "CgroupError";
}

export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** One write(2) of the whole text: the kernel takes a control file's value in one piece. */
export async function writeControl(path: string, value: string): Promise<void> {
  try {
    // "r+": a control file exists already. Creating it would hide a wrong path on a plain file system.
    await writeFile(path, value, { flag: "r+" });
  } catch (cause) {
    throw new CgroupError(`write of "${value}" to ${path}: ${errnoOf(cause) ?? String(cause)}`, { cause });
  }
}

/** Like `writeControl`; false when the file does not exist (a controller or a kernel without it). */
export async function writeControlIfThere(path: string, value: string): Promise<boolean> {
  try {
    await writeControl(path, value);
    return true;
  } catch (error) {
    if (error instanceof CgroupError && errnoOf(error.cause) === "ENOENT") return false;
    throw error;
  }
}

export async function readControl(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (cause) {
    throw new CgroupError(`read of ${path}: ${errnoOf(cause) ?? String(cause)}`, { cause });
  }
}

export async function readControlIfThere(path: string): Promise<string | undefined> {
  try {
    return await readControl(path);
  } catch (error) {
    if (error instanceof CgroupError && errnoOf(error.cause) === "ENOENT") return undefined;
    throw error;
  }
}

/** The number in a file that holds one; v2's "max" and v1's near-2^63 are Infinity. */
export function controlNumber(text: string): number {
  if (text === "max") return Infinity;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new CgroupError(`"${text}" is not a number`);
  return value >= 2 ** 62 ? Infinity : value;
}

/** A file of "key value" lines (memory.events, memory.oom_control, cpu.stat, ...). */
export function keyedNumbers(text: string): Map<string, number> {
  const entries = text.split("\n").flatMap((line): [string, number][] => {
    const [key, value] = line.split(" ");
    return key && value !== undefined ? [[key, Number(value)]] : [];
  });
  return new Map(entries);
}
