// SPDX-License-Identifier: Apache-2.0
/** Why a sandbox cannot be checkpointed, in words for its user: which process, what of it, and what helps. */
import { readFile } from "node:fs/promises";

interface Cause {
  /** In criu's log; its groups are the arguments of `resource`. */
  readonly said: RegExp;
  readonly resource: (...groups: string[]) => string;
  readonly remedy: string;
}

const CLOSE = "close it before the checkpoint";

const CAUSES: readonly Cause[] = [
  {
    said: /packetized mode for pipes/,
    resource: () => "a pipe in packet mode (O_DIRECT)",
    remedy: "make the pipe without O_DIRECT, or close it before the checkpoint",
  },
  {
    said: /is traced by \d+|Unseizable non-zombie/,
    resource: () => "a debugger or tracer on it",
    remedy: "end or detach the debugger (gdb, strace) before the checkpoint",
  },
  {
    said: /Zombies with threads are not supported|Zombie thread not supported/,
    resource: () => "threads that outlived its main thread",
    remedy: "have the main thread wait for the others instead of ending first",
  },
  {
    said: /Individually stopped threads not supported/,
    resource: () => "a thread stopped by itself",
    remedy: "let it go on before the checkpoint",
  },
  { said: /Can't dump file (\d+) of that type \[\d+\] \((.*)\)/, resource: (fd, what) => `the open file ${fd} (${what})`, remedy: CLOSE },
  {
    said: /Can't lookup mount=\S+ for fd=(\S+) path=(.*)/,
    resource: (fd, path) => `the open file ${fd} (${path}), which lies in no mount of the sandbox`,
    remedy: CLOSE,
  },
  {
    said: /Can't dump ghost file (.*) of (\d+) size/,
    resource: (path, bytes) => `the deleted file ${path} of ${bytes} bytes, still open`,
    remedy: "close it, or keep its name, before the checkpoint",
  },
  { said: /Unsupported proto (\d+) for socket/, resource: (number) => `a socket of the IP protocol ${number}`, remedy: CLOSE },
  {
    said: /Can't dump corked dgram socket/,
    resource: () => "a UDP socket with a datagram that is not complete (UDP_CORK)",
    remedy: "send the datagram before the checkpoint",
  },
  { said: /The socket has data to read/, resource: () => "a netlink socket with unread messages", remedy: "read them, or close it" },
  {
    said: /External socket is used|half of stream unix connection|name-less external socket/,
    resource: () => "a unix socket whose other end is outside the sandbox",
    remedy: CLOSE,
  },
];

/** criu's ids are those of the host. The first line that names one is about the process that could not be taken. */
const PROCESS = /\(pid: (\d+)\)|Unseizable non-zombie (\d+) found/;

/** @returns a sentence without its subject ("process 12 (python3) holds ..."); undefined when the log tells of no such cause */
export async function explainRefusal(log: readonly string[]): Promise<string | undefined> {
  const text = log.join("\n");
  for (const { said, resource, remedy } of CAUSES) {
    const found = said.exec(text);
    if (!found) continue;
    const pid = PROCESS.exec(text)?.slice(1).find(Boolean);
    return `${await processName(pid)} holds ${resource(...found.slice(1))}; ${remedy}`;
  }
  return undefined;
}

/** By its id inside, as its user knows it. The name is the program's own choice: nothing unprintable gets through. */
async function processName(hostPid: string | undefined): Promise<string> {
  if (hostPid === undefined) return "a process";
  const status = await readFile(`/proc/${hostPid}/status`, "utf8").catch(() => "");
  const name = /^Name:\t(.*)$/m.exec(status)?.[1]?.replaceAll(/[^\x20-\x7e]/g, "?");
  const inner = /^NSpid:.*?(\d+)$/m.exec(status)?.[1];
  return name === undefined || inner === undefined ? "a process" : `process ${inner} (${name})`;
}
