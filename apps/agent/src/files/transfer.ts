// SPDX-License-Identifier: Apache-2.0
/** One whole file into or out of a sandbox, over the node's disk. */
import { CollimateError, type FileReply, type PutFile } from "@collimate/contracts";
import type { GuestFile } from "@collimate/guest";
import { inTurnOf } from "../sandbox/turns.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { Spool } from "./spool.ts";

const MIB = 1_048_576;
/** More cannot lie in the sandbox. */
const mostOf = (sandbox: Sandbox): number => sandbox.resources.disk_mib * MIB;

export interface Upload extends PutFile {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** The sender's word on their SHA-256. */
  readonly sha256: string | undefined;
}

/** The file is there as a whole, or nothing has changed. Aborted, it is not begun once all bytes are here. */
export async function putFile(sandbox: Sandbox, folder: string, upload: Upload, signal: AbortSignal): Promise<FileReply> {
  await using spool = await Spool.open(folder);
  note(sandbox);
  await spool.fill(upload.bytes, mostOf(sandbox));
  signal.throwIfAborted();
  if (upload.sha256 !== undefined && upload.sha256.toLowerCase() !== spool.sha256) {
    throw new CollimateError(
      "bad_request",
      `the bytes that came for ${upload.path} are not those of the given SHA-256; nothing was changed`,
    );
  }
  await sandbox.links.putFile(upload.path, upload.mode, () => spool.chunks(), inTurnOf(sandbox));
  note(sandbox);
  return { path: upload.path, size: spool.size, sha256: spool.sha256 };
}

export interface Download {
  readonly mode: number;
  /** The caller's to dispose, or to stream. */
  readonly spool: Spool;
}

export async function getFile(sandbox: Sandbox, folder: string, path: string, signal: AbortSignal): Promise<Download> {
  const spool = await Spool.open(folder);
  try {
    note(sandbox);
    const most = mostOf(sandbox);
    const read = async (file: GuestFile) => {
      if (file.size > most)
        throw new CollimateError("bad_request", `${path} claims ${file.size} bytes, more than the sandbox's disk holds`);
      await spool.fill(untilAborted(file.content, signal), most);
      return file.mode;
    };
    const mode = await sandbox.links.getFile(path, read, inTurnOf(sandbox));
    return { mode, spool };
  } catch (error) {
    await spool[Symbol.asyncDispose]();
    throw error;
  }
}

/** A transfer is use: it keeps a sandbox from being taken for idle. */
function note(sandbox: Sandbox): void {
  sandbox.lastActiveAt = Date.now();
}

async function* untilAborted(source: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    signal.throwIfAborted();
    yield chunk;
  }
}
