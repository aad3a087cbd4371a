// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isAlive, waitFor } from "../test/processes.ts";
import { runCriu } from "./run.ts";

test("a criu that is killed takes along the processes that it has made", async () => {
  const folder = await mkdtemp(join(tmpdir(), "collimate-test-"));
  const [path, told] = [join(folder, "criu"), join(folder, "told")];
  try {
    // Stands for a criu in the middle of its checks of the kernel: it waits for a child that never ends.
    await writeFile(path, `#!/bin/sh\nsleep 3600 &\necho $! > ${told}\nwait\n`, { mode: 0o700 });
    execFileSync("mkfifo", [told]);
    const abort = new AbortController();
    const run = runCriu({
      program: { path, withoutBreakpoints: false },
      args: [],
      limitMs: 20_000,
      purpose: "wait",
      touchesTree: true,
      signal: abort.signal,
    });
    const ended = run.catch((error: unknown) => error);
    const child = Number(await readFile(told, "utf8"));
    expect(isAlive(child)).toBe(true);
    abort.abort();
    expect(await ended).toMatchObject({ code: "aborted" });
    await waitFor("the child to end", () => !isAlive(child));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
