// SPDX-License-Identifier: Apache-2.0
/** The snapshots in a node's folder, read only: the agent may be running or not. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describeFolder, type Manifest, readManifest, readSeal, type Seal } from "@collimate/snapshot";
import { Complaint } from "../complaint.ts";
import { statePaths } from "../state/paths.ts";

export interface Stored {
  readonly manifest: Manifest;
  readonly folder: string;
  /** Undefined: it was not meant to last, or not yet. */
  readonly seal: Seal | undefined;
  /** Why its checksums cannot be read. */
  readonly damage: string | undefined;
}

export const storeFolder = (given: string | undefined): string => given ?? join(statePaths().agent, "snapshots");

export async function readStore(folder: string): Promise<Stored[]> {
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new Complaint(`${folder} cannot be read`, { hint: "Name the folder with --store, or start the platform once.", cause });
  });
  const read = await Promise.all(names.map((name) => readStored(join(folder, name))));
  return read.filter((one) => one !== undefined).toSorted((a, b) => a.manifest.createdAt.localeCompare(b.manifest.createdAt));
}

export async function findStored(folder: string, id: string): Promise<Stored> {
  // The name comes from a person: it must not lead out of the folder.
  const names: string[] = await readdir(folder).catch(() => []);
  const found = names.includes(id) ? await readStored(join(folder, id)) : undefined;
  if (!found) throw new Complaint(`there is no snapshot ${id} in ${folder}`, { hint: "collimate snapshot ls shows those that are there." });
  return found;
}

/** As the seal says, or read now where there is none. */
export async function contentsOf({ folder, seal }: Stored): Promise<Pick<Seal, "images" | "layer">> {
  return seal ?? describeFolder(folder);
}

async function readStored(folder: string): Promise<Stored | undefined> {
  const manifest = await readManifest(folder);
  if (!manifest) return undefined;
  try {
    return { manifest, folder, seal: await readSeal(folder), damage: undefined };
  } catch (error) {
    return { manifest, folder, seal: undefined, damage: error instanceof Error ? error.message : String(error) };
  }
}
