// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, readFile, chmod } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { identify } from "./identity.ts";
import { launch } from "./launch.ts";
import { readRecord, writeRecord } from "./record.ts";
import { stopProcess } from "./stop.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "collimate-test-"));
  await chmod(dir, 0o711);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Runs a program of ours in a Node of its own; gives its process and the first line that it prints. */
async function program(source: string): Promise<{ child: ReturnType<typeof spawn>; line: string }> {
  const code = `import * as embedded from ${JSON.stringify(new URL("../index.ts", import.meta.url).href)};\n${source}`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", code], { stdio: ["ignore", "pipe", "inherit"] });
  if (child.stdout === null) throw new Error("no standard output");
  const [line] = await once(createInterface(child.stdout), "line");
  return { child, line };
}

test("services die with the program that started them, even when it is killed", async () => {
  const { child, line } = await program(`
    const [postgres, redis] = await Promise.all([
      embedded.startPostgres({ dir: "${dir}/postgres", durable: false }),
      embedded.startRedis({ dir: "${dir}/redis" }),
    ]);
    console.log(JSON.stringify([postgres.pid, redis.pid]));
    setInterval(() => {}, 1000);`);
  const pids: number[] = JSON.parse(line);
  const identities = await Promise.all(pids.map(identify));
  expect(identities).not.toContain(undefined);
  child.kill("SIGKILL");
  for (const identity of identities) {
    // No signal but the kernel's: a stop with no rungs but a harmless one only waits.
    if (identity !== undefined) await stopProcess(identity, [{ signal: "SIGCONT", ms: 10_000 }]);
  }
});

test("a detached service outlives its starter and is stopped by what its record says", async () => {
  const record = join(dir, "redis.json");
  const { child, line } = await program(`
    const redis = await embedded.startRedis({ dir: "${dir}/redis", lifetime: "detached", record: "${record}" });
    console.log(redis.pid);`);
  if (child.exitCode === null) await once(child, "exit");
  const identity = await readRecord(record);
  expect(identity?.pid).toBe(Number(line));
  if (identity === undefined) return;
  expect(await stopProcess(identity)).toBe("SIGTERM");
  expect(await readRecord(record)).toBeUndefined();
});

test("a process that ignores the polite signal is killed", async () => {
  const log = join(dir, "log");
  const stubborn = await launch({
    name: "stubborn",
    argv: ["/bin/sh", "-c", "trap '' TERM; echo deaf; while :; do read -r _ < /dev/zero; done"],
    cwd: "/",
    env: {},
    log,
    lifetime: "with-parent",
  });
  await expect.poll(() => readFile(log, "utf8")).toBe("deaf\n");
  expect(
    await stopProcess(stubborn, [
      { signal: "SIGTERM", ms: 100 },
      { signal: "SIGKILL", ms: 5_000 },
    ]),
  ).toBe("SIGKILL");
  expect(await stubborn.exited).toBe("SIGKILL");
});

test("a record whose pid now belongs to another process names nobody", async () => {
  const record = join(dir, "record.json");
  const self = await identify(process.pid);
  if (self === undefined) throw new Error("we do not live");
  await writeRecord(record, { ...self, startTime: String(Number(self.startTime) - 1) });
  expect(await readRecord(record)).toBeUndefined();
  await writeRecord(record, self);
  expect(await readRecord(record)).toEqual(self);
});

test("a program that cannot be started says why in its log", async () => {
  const log = join(dir, "log");
  // Whether it is seen alive for a moment or not: it ends, and how is told.
  const how = launch({ name: "none", argv: ["/nonexistent/program"], cwd: "/", env: {}, log, lifetime: "detached" }).then(
    (launched) => launched.exited,
    String,
  );
  expect(await how).toMatch(/exit code 127/);
  expect(await readFile(log, "utf8")).toContain("No such file or directory");
});

test("a program inherits no open file but its standard streams", async () => {
  const log = join(dir, "log");
  // Inherited on purpose: opened without O_CLOEXEC by a shell that then becomes the launching Node.
  const source = `import { launch } from ${JSON.stringify(new URL("./launch.ts", import.meta.url).href)};
    const it = await launch({ name: "lister", argv: ["/bin/sh", "-c", "ls -l /proc/$$/fd"], cwd: "/", env: {}, log: ${JSON.stringify(log)}, lifetime: "with-parent" }).catch(() => undefined);
    await it?.exited;`;
  const outer = spawn(
    "/bin/bash",
    ["-c", 'exec 47</etc/hostname; exec "$@"', "sh", process.execPath, "--input-type=module", "--eval", source],
    { stdio: "inherit" },
  );
  await once(outer, "exit");
  const listed = (await readFile(log, "utf8")).split("\n").flatMap((line) => / (\d+) -> /.exec(line)?.[1] ?? []);
  expect(listed).toEqual(["0", "1", "2"]);
});
