// SPDX-License-Identifier: Apache-2.0
/**
 * A writable layer as a tar stream: owners, modes, times, hard links, device nodes (overlayfs's whiteouts among them)
 * and extended attributes. The same tree always gives the same bytes, so that its digest tells whether it has changed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { pipeline } from "node:stream/promises";

/** Handles of files of the layer below: they mean nothing on another node, nor once the layer below was unpacked anew. */
const NODE_BOUND = ["trusted.overlay.origin", "trusted.overlay.uuid"];
const XATTRS = ["--xattrs", "--xattrs-include=*", ...NODE_BOUND.map((name) => `--xattrs-exclude=${name}`)];
const PACK = [
  "--create",
  "--file=-",
  "--sort=name",
  "--numeric-owner",
  // Nothing of when it was read, nor of the process that wrote the stream.
  "--format=posix",
  "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
  // By content: where a file system keeps holes is its own affair.
  "--sparse",
  "--hole-detection=raw",
  "--warning=no-file-ignored",
  ...XATTRS,
];
const UNPACK = ["--extract", "--file=-", "--numeric-owner", "--same-owner", "--same-permissions", "--delay-directory-restore", ...XATTRS];
/** tar speaks the caller's language otherwise, and takes options from the environment. */
const ENV = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
const LIMIT_MS = 20 * 60_000;
const SAID_MAX = 4_000;

/** Sockets are left out: criu makes those anew that somebody listens on. */
export async function* packLayer(folder: string): AsyncGenerator<Buffer> {
  const tar = spawn("tar", [...PACK, `--directory=${folder}`, "."], { env: ENV, stdio: ["ignore", "pipe", "pipe"], timeout: LIMIT_MS });
  const ended = endOf(tar);
  // Looked at when its output has ended, not before.
  ended.catch(() => undefined);
  try {
    yield* tar.stdout;
    await ended;
  } finally {
    tar.kill("SIGKILL");
  }
}

/** Into a folder that is there and empty. */
export async function unpackLayer(stream: AsyncIterable<Buffer>, folder: string): Promise<void> {
  const tar = spawn("tar", [...UNPACK, `--directory=${folder}`], { env: ENV, stdio: ["pipe", "ignore", "pipe"], timeout: LIMIT_MS });
  const ended = endOf(tar);
  const [fed, done] = await Promise.allSettled([pipeline(stream, tar.stdin), ended]);
  // A tar that breaks off closes its input: what it says tells more than that.
  if (fed.status === "rejected" && !(done.status === "rejected" && isClosedPipe(fed.reason))) throw fed.reason;
  if (done.status === "rejected") throw done.reason;
}

async function endOf(tar: ChildProcess): Promise<void> {
  let said = "";
  tar.stderr?.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-SAID_MAX)));
  await once(tar, "close");
  if (tar.exitCode !== 0) throw new Error(`tar ended with ${tar.exitCode ?? tar.signalCode}: ${said.trim()}`);
}

function isClosedPipe(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EPIPE" || error.code === "ERR_STREAM_PREMATURE_CLOSE");
}
