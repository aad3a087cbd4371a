// SPDX-License-Identifier: Apache-2.0
/** The package as a user gets it: built, packed, unpacked into a folder of its own, and used from there. */
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KEY, WireServer } from "./wire-server.ts";

const PACKAGE = join(import.meta.dirname, "..");
const LIMIT_MS = 60_000;
const run = promisify(execFile);
/** pnpm, as it was started for this test or as PATH has it. */
const PNPM: readonly [string, ...string[]] = /\.[cm]?js$/.test(process.env["npm_execpath"] ?? "")
  ? [process.execPath, process.env["npm_execpath"] ?? ""]
  : [process.env["npm_execpath"] ?? "pnpm"];
const pnpm = (...args: string[]) => run(PNPM[0], [...PNPM.slice(1), ...args], { cwd: PACKAGE, timeout: LIMIT_MS });

let place: string;
let installed: string;
let tarball: Buffer;
beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "collimate-sdk-"));
  await pnpm("run", "build");
  await pnpm("pack", "--pack-destination", place);
  const name = (await readdir(place)).find((file) => file.endsWith(".tgz")) ?? "";
  tarball = await readFile(join(place, name));
  installed = join(place, "node_modules", "@collimate", "sdk");
  await mkdir(installed, { recursive: true });
  await run("tar", ["-xzf", join(place, name), "--strip-components=1", "-C", installed], { timeout: LIMIT_MS });
}, LIMIT_MS);
afterAll(() => rm(place, { recursive: true, force: true }));

describe("the packed SDK", () => {
  it("holds what it needs and no more", async () => {
    const files = await readdir(installed, { recursive: true });
    expect(new Set(files)).toEqual(
      new Set(["LICENSE", "README.md", "package.json", "dist", "dist/index.js", "dist/index.js.map", "dist/index.d.ts"]),
    );
    const manifest: unknown = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
    expect(manifest).not.toHaveProperty("dependencies");
    expect(manifest).not.toHaveProperty("peerDependencies");
  });

  it("imports nothing but one Node module, and that only when it looks for a profile", async () => {
    const code = await readFile(join(installed, "dist", "index.js"), "utf8");
    expect(code.match(/^import .*$/gm)).toBeNull();
    expect(code.match(/\bimport\("[^"]+"\)/g)).toEqual(['import("node:fs/promises")']);
    expect(await readFile(join(installed, "dist", "index.d.ts"), "utf8")).not.toMatch(/from "(?!\.)|import\(/);
  });

  it("has no fault that publint knows", async () => {
    const { messages, pkg } = await publint({ pkgDir: installed, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  it("has types wherever it can be imported", async () => {
    const analysis = await checkPackage(createPackageFromTarballData(tarball));
    if (analysis.types === false) throw new Error("no types at all");
    // It is ES modules by design: a CommonJS program loads it by import() or, from Node 22 on, by require().
    expect(analysis.problems.filter((problem) => problem.kind !== "CJSResolvesToESM")).toEqual([]);
  });

  it("runs a program from bake to usage", async () => {
    await using server = await WireServer.start();
    server.addTemplate({ name: "swe" });
    const program = `
      import { connect, Template, VERSION } from "@collimate/sdk";
      const client = await connect({ url: process.argv[2], apiKey: process.argv[3] });
      const handle = await Template.attach(client, "swe");
      await handle.wait();
      const session = await client.session(handle);
      const group = await session.fork(4);
      const codes = await group.map(async (child, i) => (await child.exec({ command: "exit " + i })).exitCode);
      await group.close();
      await session.close();
      console.log(JSON.stringify({ codes, left: (await client.listSandboxes()).length, vcpu: (await client.usage()).vcpuSeconds, VERSION }));
      await client.close();
    `;
    await writeFile(join(place, "program.mjs"), program);
    const { stdout } = await run(process.execPath, ["program.mjs", server.url, KEY], {
      cwd: place,
      timeout: LIMIT_MS,
      env: { PATH: process.env["PATH"] },
    });
    expect(JSON.parse(stdout)).toMatchObject({
      codes: [0, 1, 2, 3],
      left: 0,
      vcpu: 10.5,
      VERSION: expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
  });
});
