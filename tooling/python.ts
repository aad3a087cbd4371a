// SPDX-License-Identifier: Apache-2.0
/** Runs ruff, in the version that python-tools.txt pins, over every Python file that git knows: `node tooling/python.ts check | format`. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const PINS = join(import.meta.dirname, "python-tools.txt");
const VENV = join(ROOT, "node_modules", ".cache", "python-tools");
const INSTALL_LIMIT_MS = 300_000;
const RUN_LIMIT_MS = 120_000;

const MODES = {
  check: [["check"], ["format", "--check"]],
  format: [["check", "--fix"], ["format"]],
} as const;

function run(program: string, args: readonly string[], timeout: number): boolean {
  const { status, error } = spawnSync(program, args, { cwd: ROOT, stdio: "inherit", timeout });
  if (error) console.error(`${program}: ${error.message}`);
  return status === 0;
}

/** Makes the virtual environment when it is missing or was made for other pins. */
function ensureTools(): string {
  const stamp = join(VENV, "pins.sha256");
  const wanted = createHash("sha256").update(readFileSync(PINS)).digest("hex");
  const ruff = join(VENV, "bin", "ruff");
  if (existsSync(ruff) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return ruff;
  console.error(`installing the Python tools into ${VENV}`);
  rmSync(VENV, { recursive: true, force: true });
  mkdirSync(VENV, { recursive: true });
  const made =
    run("python3", ["-m", "venv", VENV], INSTALL_LIMIT_MS) &&
    run(join(VENV, "bin", "python"), ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", PINS], INSTALL_LIMIT_MS);
  if (!made)
    throw new Error(
      "the Python tools could not be installed: python3 with venv (Debian: python3-venv) and a reachable package index are needed",
    );
  writeFileSync(stamp, wanted);
  return ruff;
}

/** Files that git tracks or would track: never a virtual environment or something downloaded. */
function pythonFiles(): string[] {
  const { status, stdout, stderr } = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.py"], {
    cwd: ROOT,
    encoding: "utf8",
    timeout: RUN_LIMIT_MS,
  });
  if (status !== 0) throw new Error(`git ls-files failed: ${stderr}`);
  return stdout.split("\0").filter((file) => file !== "" && existsSync(join(ROOT, file)));
}

const mode = process.argv[2];
if (mode !== "check" && mode !== "format") {
  console.error("usage: node tooling/python.ts check|format");
  process.exit(2);
}
const files = pythonFiles();
if (files.length > 0) {
  const ruff = ensureTools();
  const results = MODES[mode].map((args) => run(ruff, [...args, "--", ...files], RUN_LIMIT_MS));
  if (results.includes(false)) process.exit(1);
}
