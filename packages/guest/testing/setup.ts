// SPDX-License-Identifier: Apache-2.0
/** Once per test run (vitest's globalSetup): builds init and the proxy, installs what cells import, finds out how criu works here. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { probe } from "@collimate/criu";
import { criu } from "./checkpoint.ts";
import { built, clean, pythonPackages } from "./sandbox.ts";

const here = import.meta.dirname;
const INSTALL_LIMIT_MS = 300_000;

export async function setup(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error("These tests start an init in namespaces of its own: run them as root");
  execFileSync(join(here, "..", "build.sh"), [built], { stdio: "inherit" });
  execFileSync("gcc", ["-D_GNU_SOURCE", "-O2", "-Wall", "-Werror", "-o", join(built, "netns-proxy"), join(here, "netns-proxy.c")], {
    stdio: "inherit",
  });
  await installPackages();
  if (!existsSync(criu)) throw new Error(`${criu} is not there: build it with packages/criu-holder/build.sh, or set COLLIMATE_CRIU`);
  const probed = await probe({ path: criu });
  if (!probed.works) throw new Error(`criu does not work here: ${probed.reason}`);
  // Inherited by the tests' processes, and by criu from them.
  if (probed.program.withoutBreakpoints) process.env["CRIU_FAULT"] = "130";
}

/** With the Python that the sandboxes find, into a folder that they look into. */
async function installPackages(): Promise<void> {
  if (existsSync(pythonPackages)) return;
  const fresh = `${pythonPackages}.new`;
  await rm(fresh, { recursive: true, force: true });
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--only-binary=:all:"];
  const env = { ...process.env, PATH: clean.PATH, PYTHONPATH: "" };
  execFileSync("python3", [...pip, "--target", fresh, "--requirement", join(here, "requirements.txt")], {
    stdio: "inherit",
    env,
    timeout: INSTALL_LIMIT_MS,
  });
  await rename(fresh, pythonPackages); // an interrupted install is made anew
}
