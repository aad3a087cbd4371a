// SPDX-License-Identifier: Apache-2.0
import { lchownSync, lstatSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { BASE, booted, COUNT, mounted, overlayOf, SLOT, withHost, type TestHost } from "./host-fixture.ts";

/** How the agent's side sees a file of the mounted root: through the daemon's mount namespace. */
const seen = (host: TestHost, path: string, root = host.root) => `/proc/${host.hostd.pid}/root${join(root, path)}`;

describe.each([
  ["this kernel's way", []],
  ["the way of older kernels", ["--act-as-old-kernel"]],
])("overlay.mount, %s", (_, daemonArguments) => {
  const options = { arguments: daemonArguments };

  test("shows layers of ids from 0 as the slot's ids outside, and as ids from 0 inside", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      expect(statSync(seen(host, "etc/motd")).uid).toBe(BASE);
      expect(statSync(seen(host, "home/owned"))).toMatchObject({ uid: BASE + 1000, gid: BASE + 1001 });
      expect(await sandbox.ask("stat /etc/motd")).toBe("0 0 644\n");
      expect(await sandbox.ask("stat /home/owned")).toBe("1000 1001 644\n");
    }, options);
  });

  test("puts what the sandbox writes into the upper layer with ids from 0", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      expect(await sandbox.ask("write /etc/new made inside")).toBe("ok\n");
      expect(await sandbox.ask("write /home/owned and changed")).toBe("ok\n");
      const made = join(host.folder, "layer/upper/etc/new");
      const copiedUp = join(host.folder, "layer/upper/home/owned");
      expect(lstatSync(made)).toMatchObject({ uid: 0, gid: 0 });
      expect(readFileSync(made, "utf8")).toBe("made inside");
      expect(lstatSync(copiedUp)).toMatchObject({ uid: 1000, gid: 1001 });
      expect(readFileSync(copiedUp, "utf8")).toBe("by a user\nand changed");
      expect(readFileSync(join(host.folder, "image/home/owned"), "utf8")).toBe("by a user\n");
    }, options);
  });

  test("stacks many layers, the first on top", async () => {
    await withHost(async (host) => {
      const layers = [...Array(120).keys()].map((index) => join(host.folder, `snapshot-${index}`));
      for (const [index, layer] of layers.entries()) {
        mkdirSync(layer);
        writeFileSync(join(layer, "top"), `${index}`);
        writeFileSync(join(layer, `only-${index}`), `${index}`);
      }
      await using root = await mounted(host, { lower: [...layers, ...overlayOf(host).lower] });
      expect(readFileSync(seen(host, "top", root.path), "utf8")).toBe("0");
      expect(readFileSync(seen(host, "only-119", root.path), "utf8")).toBe("119");
    }, options);
  });

  test("gives file handles when asked to, for two sandboxes on the same layers at once", async () => {
    await withHost(async (host) => {
      await using first = await mounted(host, { index: true, nfsExport: true });
      for (const path of ["second", "second/upper", "second/work", "root2"]) mkdirSync(join(host.folder, path));
      const target = join(host.folder, "root2");
      await host.hostd.client.createUserns(SLOT + 1, BASE + COUNT, COUNT);
      await host.hostd.client.mountOverlay({
        ...overlayOf(host),
        slot: SLOT + 1,
        target,
        base: join(host.folder, "second"),
        index: true,
        nfsExport: true,
      });
      const mounts = readFileSync(`/proc/${host.hostd.pid}/mountinfo`, "utf8").split("\n");
      const ours = mounts.filter((line) => line.includes(" overlay ") && line.includes(host.folder));
      expect(ours.map((line) => line.split(" ")[4])).toEqual([first.path, target]);
      for (const line of ours) expect(line).toMatch(/nfs_export=on/);
      expect(statSync(`/proc/${host.hostd.pid}/root${target}/etc/motd`).uid).toBe(BASE + COUNT);
      await host.hostd.client.umount(target);
      await host.hostd.client.dropUserns(SLOT + 1);
    }, options);
  });
});

describe("overlay.mount", () => {
  test("is private: it does not show up in the namespace the daemon was started from", async () => {
    await withHost(async (host) => {
      await using root = await mounted(host);
      expect(host.mountsOf(host.hostd.pid)).toContain(root.path);
      expect(host.mountsOf(process.pid)).not.toContain(root.path);
      const line = readFileSync(`/proc/${host.hostd.pid}/mountinfo`, "utf8")
        .split("\n")
        .find((mount) => mount.includes(` ${host.root} `));
      expect(line).not.toMatch(/shared:|master:/);
    });
  });

  test("device nodes of a layer work inside, and cannot be made inside", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      expect(await sandbox.ask("read /dev/null")).toBe("");
      expect((await sandbox.ask("read /dev/urandom")).length).toBeGreaterThan(1000);
      expect(await sandbox.ask("mknod /tmp/null")).toBe("error mknod: EPERM\n");
    });
  });

  test.each([
    ["a slot without a user namespace", { slot: SLOT + 9 }, "not_found", /userns.create comes first/],
    ["a layer that is not there", { lower: ["/nowhere/at/all"] }, "not_found", /layer \/nowhere\/at\/all.*No such file/],
    ["a target that is not there", { target: "/nowhere/at/all" }, "not_found", /\/nowhere\/at\/all.*No such file/],
    ["an upper that is not there", { upper: "missing" }, "not_found", /No such file/],
    ["a layer on a file system without idmapped mounts", { lower: ["/proc/sys"] }, "system", /idmapped/],
  ])("refuses %s, names it, and leaves nothing mounted", async (_, overrides, code, message) => {
    await withHost(async (host) => {
      await host.hostd.client.createUserns(SLOT, BASE, COUNT);
      const request = host.hostd.client.mountOverlay({ ...overlayOf(host), ...overrides });
      await expect(request).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
      await host.hostd.client.dropUserns(SLOT);
    });
  });

  test("refuses an upper layer that cannot be written, instead of a read-only root", async () => {
    await withHost(async (host) => {
      // Ids outside the slot's map: the work directory belongs to no one that the sandbox could be.
      lchownSync(join(host.folder, "layer/work"), 70_000, 70_000);
      await host.hostd.client.createUserns(SLOT, BASE, COUNT);
      await expect(host.hostd.client.mountOverlay(overlayOf(host))).rejects.toMatchObject({ name: "HostError" });
      await host.hostd.client.dropUserns(SLOT);
    });
  });

  test("a layer that is a symlink is refused, not followed", async () => {
    await withHost(async (host) => {
      const link = join(host.folder, "link");
      symlinkSync("/etc", link);
      await host.hostd.client.createUserns(SLOT, BASE, COUNT);
      await expect(host.hostd.client.mountOverlay({ ...overlayOf(host), lower: [link] })).rejects.toMatchObject({
        name: "HostError",
      });
      rmSync(link);
      await host.hostd.client.dropUserns(SLOT);
    });
  });

  test("umount can be repeated", async () => {
    await withHost(async (host) => {
      await using root = await mounted(host);
      expect(await host.hostd.client.umount(root.path)).toEqual({ wasMounted: true });
      expect(await host.hostd.client.umount(root.path)).toEqual({ wasMounted: false });
      expect(await host.hostd.client.umount("/nowhere/at/all")).toEqual({ wasMounted: false });
    });
  });
});

describe("userns.create", () => {
  test("can be repeated with the same ids, and refuses others until the slot is dropped", async () => {
    await withHost(async ({ hostd: { client } }) => {
      expect(await client.createUserns(SLOT, BASE, COUNT)).toEqual({ created: true });
      expect(await client.createUserns(SLOT, BASE, COUNT)).toEqual({ created: false });
      await expect(client.createUserns(SLOT, BASE + COUNT, COUNT)).rejects.toMatchObject({ code: "conflict" });
      expect((await client.list()).slots).toEqual([SLOT]);
      expect(await client.dropUserns(SLOT)).toEqual({ dropped: true });
      expect(await client.dropUserns(SLOT)).toEqual({ dropped: false });
      expect((await client.list()).slots).toEqual([]);
    });
  });

  test("refuses the host's own ids", async () => {
    await withHost(async ({ hostd: { client } }) => {
      await expect(client.createUserns(SLOT, 1000, COUNT)).rejects.toMatchObject({ code: "bad_request" });
    });
  });
});
