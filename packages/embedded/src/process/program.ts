// SPDX-License-Identifier: Apache-2.0
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";

/** sbin is where Debian puts servers; an unprivileged user's PATH lacks it. */
const SYSTEM_DIRS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** The absolute path of a program of the distribution; the error says which package has it. */
export async function findProgram(name: string, debianPackage: string): Promise<string> {
  for (const dir of SYSTEM_DIRS) {
    const path = join(dir, name);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  throw new Error(`${name} is not installed: install the Debian package ${debianPackage}`);
}

/** The environment of the services: nothing of the caller's leaks in (a REGISTRY_* variable would change the registry's configuration). */
export const SERVICE_ENV: Readonly<Record<string, string>> = {
  PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8",
  TZ: "UTC",
};
