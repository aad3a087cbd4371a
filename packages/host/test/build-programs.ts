// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { join } from "node:path";

export const buildDirectory = join(import.meta.dirname, "..", "build");
export const hostdBinary = join(buildDirectory, "collimate-hostd");
export const testInit = join(buildDirectory, "test-init");

/** Before all tests: the daemon as it is shipped, and the small PID 1 that the tests boot. */
export default function setup(): void {
  if (process.getuid?.() !== 0) throw new Error("these tests make mounts and namespaces: run them as root");
  execFileSync(join(import.meta.dirname, "..", "build.sh"), [buildDirectory], { stdio: "inherit" });
  const source = join(import.meta.dirname, "test-init.c");
  execFileSync("gcc", ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-static", source, "-o", testInit], {
    stdio: "inherit",
  });
}
