// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { explainRefusal } from "./refusal.ts";

const own = (what: string) => [what, `Error (criu/cr-dump.c:1545): Dump files (pid: ${process.pid}) failed with -1`];

test.each([
  ["Error (criu/pipes.c:490): The packetized mode for pipes is not supported yet", /a pipe in packet mode .*; make the pipe without/],
  [
    "Error (criu/files-ext.c:94): Can't dump file 7 of that type [600] (unknown anon_inode:[fanotify])",
    /the open file 7 \(.*fanotify.*; close/,
  ],
  ["Error (criu/files-reg.c:1790): Can't lookup mount=9 for fd=5 path=/q", /the open file 5 \(\/q\), which lies in no mount/],
  ["Error (criu/sk-inet.c:137): Unsupported proto 262 for socket 1f", /a socket of the IP protocol 262; close/],
])("%s: process, resource and remedy are told", async (line, wanted) => {
  const said = await explainRefusal(own(line));
  expect(said).toMatch(wanted);
  expect(said).toMatch(new RegExp(`^process ${process.pid} \\([ -~]+\\) holds `));
});

test("a process that has gone has no name, and a log of something else no explanation", async () => {
  expect(await explainRefusal(["Unseizable non-zombie 4194303 found, state t, err -1/1"])).toMatch(/^a process holds a debugger/);
  expect(await explainRefusal(["Error (criu/cr-dump.c:1): out of memory"])).toBeUndefined();
});
