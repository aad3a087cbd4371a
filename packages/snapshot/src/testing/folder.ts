// SPDX-License-Identifier: Apache-2.0
/** A snapshot folder with the kinds of things that a writable layer and process images have. */
import { execFileSync } from "node:child_process";
import { chmod, chown, link, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHUNK_BYTES } from "../chunks.ts";
import type { Manifest } from "../manifest.ts";

export const manifest = (id: string, change: Partial<Manifest> = {}): Manifest => ({
  format: 2,
  id,
  kind: "template",
  templateId: "tpl_1",
  image: `registry.test/app@sha256:${"0".repeat(64)}`,
  imageDigest: `sha256:${"0".repeat(64)}`,
  guest: "0123456789abcdef",
  base: null,
  layers: [id],
  workdir: "/",
  user: "",
  ports: [],
  network: false,
  resources: { vcpus: 1, memory_mib: 64, disk_mib: 64, pids: 64 },
  privateBytes: 1,
  kernel: "6",
  criu: "4.2.1",
  arch: "x64",
  cpuFeatures: ["avx", "sse2"],
  createdAt: "2026-01-01T00:00:00.000Z",
  ...change,
});

// Node has no calls for extended attributes.
function setAttribute(path: string, name: string, value: string): void {
  execFileSync("python3", ["-c", "import os, sys; os.setxattr(sys.argv[1], sys.argv[2], sys.argv[3].encode())", path, name, value]);
}

export function attribute(path: string, name: string): string {
  return execFileSync("python3", [
    "-c",
    "import os, sys; print(os.getxattr(sys.argv[1], sys.argv[2]).decode(), end='')",
    path,
    name,
  ]).toString();
}

export class Folders implements AsyncDisposable {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  static async make(): Promise<Folders> {
    return new Folders(await mkdtemp(join(tmpdir(), "collimate-snapshot-")));
  }

  /** Three chunks of memory, the second of zeros; `seedByte` fills the last. */
  async snapshot(id: string, seedByte = 2): Promise<string> {
    const folder = join(this.root, id);
    const [images, upper] = [join(folder, "images"), join(folder, "upper")];
    await mkdir(images, { recursive: true });
    await mkdir(join(upper, "etc"), { recursive: true });
    const pages = Buffer.concat([Buffer.alloc(CHUNK_BYTES, 1), Buffer.alloc(CHUNK_BYTES), Buffer.alloc(100_000, seedByte)]);
    await writeFile(join(images, "pages-1.img"), pages);
    await writeFile(join(images, "inventory.img"), "inventory");
    await writeFile(join(images, "dump.log"), "not part of it");
    await writeFile(join(upper, "etc/file"), "text");
    await chown(join(upper, "etc/file"), 1_000, 1_001);
    // After the owner: a new one takes the set-user-id bit away.
    await chmod(join(upper, "etc/file"), 0o4751);
    await link(join(upper, "etc/file"), join(upper, "etc/twin"));
    await symlink("/etc/file", join(upper, "etc/link"));
    execFileSync("mknod", [join(upper, "etc/removed"), "c", "0", "0"]);
    setAttribute(join(upper, "etc"), "trusted.overlay.opaque", "y");
    setAttribute(join(upper, "etc/file"), "user.note", "kept");
    await writeFile(join(folder, "manifest.json"), JSON.stringify(manifest(id)));
    return folder;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }
}
