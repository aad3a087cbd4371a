// SPDX-License-Identifier: Apache-2.0
/** Whole files into and out of a sandbox. */
import { ApiError, ConfigurationError, FileError, TransportError } from "../errors.ts";
import { record, text } from "../json.ts";
import type { Http } from "../transport/http.ts";

export interface FileOptions {
  /** For the whole transfer, in seconds. Default: an hour, the server's own limit. */
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
}

export interface UploadOptions extends FileOptions {
  /** Permission bits, e.g. `0o755`. Default: those of the file that is replaced, else `0o644`. */
  readonly mode?: number;
}

export interface DownloadOptions extends FileOptions {
  /** Largest file that is taken, in bytes: what a sandbox sends is not to be trusted with all memory. Default 1 GiB. */
  readonly maxBytes?: number;
}

const FILE_TYPE = "application/octet-stream";
const HASH_HEADER = "x-content-sha256";
const LIMIT_S = 3_600;
const DOWNLOAD_MAX = 1024 ** 3;

/** `route`: the sandbox's file route. */
export async function uploadFile(
  http: Http,
  route: string,
  path: string,
  data: Uint8Array | string,
  options: UploadOptions,
): Promise<void> {
  const bytes = bytesOf(data);
  const digest = await sha256(bytes);
  const mode: Record<string, string> = options.mode === undefined ? {} : { mode: options.mode.toString(8) };
  const reply = await told(() =>
    http.send({
      method: "PUT",
      path: withQuery(route, { path: absolute(path), ...mode }),
      bytes,
      headers: { "content-type": FILE_TYPE, [HASH_HEADER]: digest },
      // The same bytes at the same place, however often.
      repeat: "free",
      timeoutMs: limitOf(options),
      withinMs: limitOf(options),
      signal: options.signal,
    }),
  );
  if (text(record(reply), "sha256") !== digest) throw new TransportError(`the answer to the upload of ${path} does not confirm its bytes`);
}

export async function downloadFile(http: Http, route: string, path: string, options: DownloadOptions): Promise<Uint8Array<ArrayBuffer>> {
  const { bytes, headers } = await told(() =>
    http.sendForBytes(
      {
        method: "GET",
        path: withQuery(route, { path: absolute(path) }),
        headers: { accept: FILE_TYPE },
        repeat: "free",
        timeoutMs: limitOf(options),
        withinMs: limitOf(options),
        signal: options.signal,
      },
      options.maxBytes ?? DOWNLOAD_MAX,
    ),
  );
  const announced = headers.get(HASH_HEADER);
  if (announced !== null && announced !== (await sha256(bytes)))
    throw new TransportError(`the bytes that came of ${path} are not those that the server announced`);
  return bytes;
}

/** What is wrong with the file, and not with the way to it, is an error of its own. */
async function told<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ApiError && error.path !== "") throw new FileError(error.message, { cause: error, path: error.path });
    throw error;
  }
}

function absolute(path: string): string {
  if (!path.startsWith("/")) throw new ConfigurationError(`a path in a sandbox is absolute, not ${JSON.stringify(path)}`);
  return path;
}

function limitOf(options: FileOptions): number {
  const seconds = options.timeoutSeconds ?? LIMIT_S;
  if (!(seconds > 0)) throw new ConfigurationError(`timeoutSeconds is above 0, not ${seconds}`);
  return seconds * 1_000;
}

function withQuery(route: string, query: Record<string, string>): string {
  return `${route}?${new URLSearchParams(query).toString()}`;
}

/** fetch and the hash take no shared memory. */
function bytesOf(data: Uint8Array | string): Uint8Array<ArrayBuffer> {
  if (typeof data === "string") return new TextEncoder().encode(data);
  const { buffer, byteOffset, byteLength } = data;
  return buffer instanceof ArrayBuffer ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(data);
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
