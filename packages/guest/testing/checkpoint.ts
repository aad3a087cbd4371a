// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { TestSandbox, killIfThere, until } from "./sandbox.ts";

const run = promisify(execFile);

/** Of the tools folder. Used as any criu (4.2.1 or newer) is, without a holder. */
export const criu = process.env["COLLIMATE_CRIU"] ?? join(process.env["COLLIMATE_TOOLS"] ?? "/var/cache/collimate", "criu", "criu");

const flags = ["-v1", "--empty-ns", "net", "--network-lock", "skip", "--manage-cgroups=ignore", "--file-locks"];
const options = { timeout: 30_000 };

/** Dumps a sandbox, which ends with it. Images go to `folder`/images. */
export async function dump(sandbox: TestSandbox, folder: string): Promise<void> {
  const images = join(folder, "images");
  await mkdir(images);
  await run(criu, ["dump", "-t", String(sandbox.pid), "-D", images, "-o", "dump.log", ...flags], options).catch(async (error: unknown) => {
    throw new Error(await readFile(join(images, "dump.log"), "utf8"), { cause: error });
  });
}

/** Restores a child with a writable layer of its own. */
export async function restore(folder: string, name: string): Promise<TestSandbox> {
  const child = join(folder, name);
  for (const part of ["upper", "work", "root"]) await mkdir(join(child, part), { recursive: true });
  const layers = `lowerdir=${folder}/upper:/,upperdir=${child}/upper,workdir=${child}/work`;
  await run("mount", ["-t", "overlay", "overlay", "-o", layers, `${child}/root`]);
  const restoring = [
    "restore",
    "-d",
    "-D",
    join(folder, "images"),
    "-W",
    child,
    "-o",
    "restore.log",
    "--pidfile",
    `${child}/pid`,
    "--root",
    `${child}/root`,
  ];
  await run(criu, [...restoring, ...flags], options).catch(async (error: unknown) => {
    throw new Error(await readFile(join(child, "restore.log"), "utf8"), { cause: error });
  });
  const pid = Number(await readFile(`${child}/pid`, "utf8"));
  return await TestSandbox.join(pid, async () => {
    killIfThere(pid);
    await until(async () => !(await isRunning(pid)));
    await run("umount", ["-l", `${child}/root`]);
  });
}

async function isRunning(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return status !== "" && !/^State:\s+Z/m.test(status);
}
