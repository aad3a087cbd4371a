// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { Hostd } from "../src/index.ts";
import { hostdBinary } from "./build-programs.ts";
import { BASE, booted, COUNT, mounted, sandboxProcesses, SLOT, withHost } from "./host-fixture.ts";

const field = (pid: number, name: string) =>
  new RegExp(`^${name}:[ \\t]*(.*)$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];

describe("boot", () => {
  test("starts PID 1 in namespaces of its own, all seven", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const { pid } = sandbox.process;
      const kinds = ["user", "pid", "mnt", "uts", "ipc", "net", "cgroup"];
      const shared = kinds.filter((kind) => readlinkSync(`/proc/${pid}/ns/${kind}`) === readlinkSync(`/proc/self/ns/${kind}`));
      expect(shared).toEqual([]);
      expect(field(pid, "NSpid")).toBe(`${pid}\t1`);
      expect(readFileSync(`/proc/${pid}/uid_map`, "utf8").trim().split(/\s+/)).toEqual(["0", `${BASE}`, `${COUNT}`]);
      expect(readFileSync(`/proc/${pid}/gid_map`, "utf8").trim().split(/\s+/)).toEqual(["0", `${BASE}`, `${COUNT}`]);
    });
  });

  test("leaves exactly three mounts inside: /, /proc and terminals of its own", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const mounts = (await sandbox.ask("read /proc/self/mountinfo")).trim().split("\n");
      expect(mounts.map((line) => line.split(" ")[4])).toEqual(["/", "/proc", "/dev/pts"]);
      expect(mounts[1]).toMatch(/nosuid,nodev,noexec/);
      expect(mounts[2]).toMatch(/nosuid,noexec.* devpts .*ptmxmode=666,max=128/);
    });
  });

  test("hands the program nothing of the host: no file, no environment, no group, no tty, no foreign session", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host, { env: { PATH: "/bin", TOKEN: "a=b" } });
      const { pid } = sandbox.process;
      const files = (await sandbox.ask("fds")).trim().split("\n");
      const [standard, other] = [files.slice(0, 3), files.slice(3)];
      expect(standard).toEqual(["0 /dev/null", "1 /dev/null", "2 /dev/null"]);
      for (const file of other) expect(file).toMatch(/^\d+ socket:/); // test-init's own listeners
      expect((await sandbox.ask("read /proc/1/environ")).split("\0").filter(Boolean)).toEqual(["PATH=/bin", "TOKEN=a=b"]);
      expect(field(pid, "Groups")).toBe("");
      expect(field(pid, "NSsid")).toBe(`${pid}\t1`);
      expect(field(pid, "SigBlk")).toBe("0000000000000000");
      const [, , , , , , tty] = readFileSync(`/proc/${pid}/stat`, "utf8").split(" ");
      expect(tty).toBe("0");
      expect(readlinkSync(`/proc/${pid}/cwd`)).toBe("/");
    });
  });

  test("capabilities are those of its own user namespace: the host's devices and clock stay out of reach", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      expect(await sandbox.ask("mknod /tmp/disk")).toBe("error mknod: EPERM\n");
      expect(await sandbox.ask("write /proc/sys/vm/swappiness 1")).toMatch(/^error write: (EACCES|EPERM)\n$/);
    });
  });

  test("brings the loopback up with the inner addresses, and allows non-local bind", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host, { addrs: ["10.0.0.2/32", "fd00::2/128"], hostname: "box-1" });
      const inner = (...command: string[]) =>
        execFileSync("nsenter", ["-t", `${sandbox.process.pid}`, "-n", ...command], { encoding: "utf8" });
      expect(inner("ip", "-brief", "address")).toMatch(/^lo\s+\S+\s+127\.0\.0\.1\/8 10\.0\.0\.2\/32 fd00::2\/128 ::1\/128/);
      expect(inner("ip", "-brief", "link")).toMatch(/LOWER_UP/);
      expect(await sandbox.ask("read /proc/sys/net/ipv4/ip_nonlocal_bind")).toBe("1\n");
      expect(await sandbox.ask("read /proc/sys/net/ipv6/ip_nonlocal_bind")).toBe("1\n");
      expect(readFileSync("/proc/sys/net/ipv4/ip_nonlocal_bind", "utf8")).toBe("0\n"); // the host's own
      expect(await sandbox.ask("read /proc/sys/kernel/hostname")).toBe("box-1\n");
    });
  });

  test("keeps its root when ours is unmounted", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      expect(await host.hostd.client.umount(host.root)).toEqual({ wasMounted: true });
      expect(await sandbox.ask("read /etc/motd")).toBe("from the image\n");
      expect(await sandbox.ask("write /etc/motd more")).toBe("ok\n");
    });
  });

  test("takes text of all kinds, and refuses what no C string can hold without harm to others", async () => {
    await withHost(async (host) => {
      const env = { GREETING: 'zwölf "Boxkämpfer"\n\\ \u0001 😀' };
      await using sandbox = await booted(host, { env });
      expect(await sandbox.ask("read /proc/1/environ")).toBe(`GREETING=${env.GREETING}\0`);
      const boot = (odd: string) =>
        host.hostd.client.boot({ slot: SLOT, root: host.root, argv: ["/.collimate/init", odd], env: { A: odd } });
      await expect(boot("a\0b")).rejects.toThrow(/without NUL/);
      await expect(boot("\ud800")).rejects.toThrow(/without NUL/);
      await expect(boot("x".repeat(70_000))).rejects.toMatchObject({ code: "bad_request" });
      await host.hostd.client.stat();
    });
  });

  test("killing PID 1 ends everything inside, and the watch tells", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      await sandbox.ask("daemon");
      await sandbox.ask("daemon");
      expect(sandboxProcesses().length).toBeGreaterThanOrEqual(3);
      const watch = await host.hostd.client.watch("box", sandbox.process);
      expect(await host.hostd.client.kill(sandbox.process)).toBe(true);
      expect(await watch.ended).toBe("exited");
      expect(sandboxProcesses()).toEqual([]);
    });
  });

  test.each([
    ["a program that is not there", { argv: ["/no/such/program"] }, /exec: \/no\/such\/program: No such file/],
    ["a program that cannot run", { argv: ["/etc/motd"] }, /exec: \/etc\/motd: Permission denied/],
    ["a root that is not there", { root: "/nowhere/at/all" }, /root: chdir to \/nowhere\/at\/all: No such file/],
    ["a root that is no overlay", { root: "/etc" }, /root: \/etc is not a mounted overlay/],
    ["a cgroup that is not there", { cgroups: ["/nowhere/cgroup.procs"] }, /cgroup: open of \/nowhere/],
  ])("%s: the reason is told and nothing is left", async (_, overrides, reason) => {
    await withHost(async (host) => {
      await using root = await mounted(host);
      const request = { slot: SLOT, root: root.path, argv: ["/.collimate/init"], ...overrides };
      await expect(host.hostd.client.boot(request)).rejects.toMatchObject({
        name: "HostError",
        message: expect.stringMatching(reason),
      });
      expect(sandboxProcesses()).toEqual([]);
    });
  });

  test("an image whose /proc is a symlink to elsewhere is refused", async () => {
    await withHost(async (host) => {
      rmSync(join(host.folder, "guest/proc"), { recursive: true });
      symlinkSync("/etc", join(host.folder, "guest/proc"));
      await using root = await mounted(host);
      const request = host.hostd.client.boot({ slot: SLOT, root: root.path, argv: ["/.collimate/init"] });
      await expect(request).rejects.toThrow(/the root's \/proc must be a directory/);
    });
  });

  test("an image whose /dev/null is a plain file or a FIFO is refused at once", async () => {
    await withHost(async (host) => {
      const path = join(host.folder, "guest/dev/null");
      rmSync(path);
      writeFileSync(path, "");
      await using root = await mounted(host);
      const request = () => host.hostd.client.boot({ slot: SLOT, root: root.path, argv: ["/.collimate/init"] });
      await expect(request()).rejects.toThrow(/\/dev\/null inside is not the null device/);
    });
    await withHost(async (host) => {
      const path = join(host.folder, "guest/dev/null");
      rmSync(path);
      execFileSync("mkfifo", [path]);
      await using root = await mounted(host);
      const request = host.hostd.client.boot({ slot: SLOT, root: root.path, argv: ["/.collimate/init"] });
      await expect(request).rejects.toThrow(/\/dev\/null inside is not the null device/);
    });
  });

  test("the sandbox lives on when the daemon ends, and a new daemon can watch and kill it", async () => {
    await withHost(async (host) => {
      const { hostd } = host;
      await using root = await mounted(host);
      const process = await hostd.client.boot({ slot: SLOT, root: root.path, argv: ["/.collimate/init"] });
      const other = await Hostd.start({ binary: hostdBinary, socket: join(host.folder, "other.sock") });
      const watch = await other.client.watch("stranger", process);
      await other.stop();
      expect(await watch.ended).toBe("lost");
      expect(sandboxProcesses()).toEqual([process.pid]);
      expect(await hostd.client.kill(process)).toBe(true);
    });
  });
});
