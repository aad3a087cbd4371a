// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import type { ProcessRef } from "../src/index.ts";
import { ask, booted, eventually, overlayOf, withHost, type TestHost } from "./host-fixture.ts";

// What this package makes must be what criu can take and give back. The driver's own tests go deeper.
const tools = process.env["COLLIMATE_TOOLS"] ?? "/var/cache/collimate";
const criu = process.env["COLLIMATE_CRIU"] ?? join(tools, "criu", "criu");

function runCriu(host: TestHost, verb: string, ...options: string[]): void {
  const flags = ["--empty-ns", "net", "--network-lock", "skip", "--manage-cgroups=ignore", "--file-validation", "filesize"];
  const images = join(host.folder, "images");
  const argv = ["-t", `${host.hostd.pid}`, "-m", criu, verb, "-D", images, "-o", `${verb}.log`, ...flags, ...options];
  try {
    // 130: hardware breakpoints that never fire (virtual machines); harmless where they do.
    execFileSync("nsenter", argv, { env: { ...process.env, CRIU_FAULT: "130" }, timeout: 20_000 });
  } catch (error) {
    const log = readFileSync(join(images, `${verb}.log`), "utf8");
    throw new Error(
      `criu ${verb} failed: ${log
        .split("\n")
        .filter((line) => line.includes("Error"))
        .join("\n")}`,
      {
        cause: error,
      },
    );
  }
}

function started(pid: number): ProcessRef {
  const [, rest = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(/\) /);
  return { pid, startTime: Number(rest.split(" ")[19]) };
}

describe.skipIf(!existsSync(criu))("a booted sandbox", () => {
  test("can be checkpointed, and restored over a copy of its upper layer, inotify watches included", async () => {
    await withHost(async (host) => {
      const { hostd } = host;
      const { client } = hostd;
      await using sandbox = await booted(host, { addrs: ["10.0.0.2/32"] }, { index: true, nfsExport: true });
      mkdirSync("/dev/shm/collimate-criu", { recursive: true, mode: 0o700 }); // criu's own cache
      for (const path of ["images", "child/upper", "child/work", "child-root"]) mkdirSync(join(host.folder, path), { recursive: true });
      expect(await sandbox.ask("write /note before the fork")).toBe("ok\n");
      expect(await sandbox.ask("inotify /note")).toBe("ok\n");
      await sandbox.hangUp();
      await client.umount(host.root); // the sandbox has its own

      runCriu(host, "dump", "-t", `${sandbox.process.pid}`, "--leave-running");
      const snapshot = join(host.folder, "snapshot");
      execFileSync("cp", ["-a", join(host.folder, "layer/upper"), snapshot]);

      const target = join(host.folder, "child-root");
      await client.mountOverlay({
        ...overlayOf(host),
        target,
        lower: [snapshot, ...overlayOf(host).lower],
        base: join(host.folder, "child"),
        index: true,
        nfsExport: true,
      });
      const pidfile = join(host.folder, "images/pid");
      runCriu(host, "restore", "-d", "--root", target, "--pidfile", pidfile);
      const child = started(Number(readFileSync(pidfile, "utf8")));
      const inChild = async (command: string) => ask(await hostd.dial(child, { abstract: "test-init" }), command);
      const watch = await client.watch("child", child);

      expect(await inChild("read /note")).toBe("before the fork");
      expect(await inChild("write /note , after it")).toBe("ok\n");
      await eventually(async () => expect(await inChild("read /seen")).toBe("modified\n"));
      expect(await sandbox.ask("read /seen")).toBe("error open: ENOENT\n"); // the parent's watch saw nothing
      expect(await sandbox.ask("read /note")).toBe("before the fork");

      await client.kill(child);
      await watch.ended;
      await client.umount(target);
    });
  });
});
