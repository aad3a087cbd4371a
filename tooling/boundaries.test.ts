// SPDX-License-Identifier: Apache-2.0
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { cruise } from "dependency-cruiser";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import config from "../.dependency-cruiser.mjs";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "collimate-boundaries-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Writes a small repository and names the rules that its files break, each once. */
async function broken(files: Record<string, string>): Promise<string[]> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(root, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  const folders = [...new Set(Object.keys(files).map((path) => path.split("/")[0] ?? ""))].filter((folder) => folder !== "node_modules");
  const { output } = await cruise(folders, {
    ...config.options,
    baseDir: root,
    validate: true,
    ruleSet: { forbidden: config.forbidden ?? [] },
  });
  if (typeof output === "string") throw new Error(output);
  return [...new Set(output.summary.violations.map((violation) => violation.rule.name))].toSorted();
}

const use = (path: string): string => `import * as it from "${path}";\nexport const used = it;\n`;
const empty = "export {};\n";

describe("the boundaries", () => {
  it("let an app use a package and itself", async () => {
    expect(
      await broken({
        "apps/api/src/main.ts": use("./server.ts"),
        "apps/api/src/server.ts": use("node:http"),
        "packages/db/src/index.ts": empty,
      }),
    ).toEqual([]);
  });

  it.each<[rule: string, from: string, to: string]>([
    ["apps-never-import-apps", "apps/api/src/main.ts", "apps/agent/src/main.ts"],
    ["packages-never-import-apps", "packages/queue/src/index.ts", "apps/agent/src/main.ts"],
    ["contracts-import-nothing-of-ours", "packages/contracts/src/index.ts", "packages/db/src/index.ts"],
    ["sdk-imports-types-only", "packages/sdk/src/index.ts", "packages/contracts/src/index.ts"],
    ["no-reaching-into-another-package", "packages/criu/src/index.ts", "packages/db/src/index.ts"],
  ])("report %s: %s importing %s", async (rule, from, to) => {
    expect(await broken({ [from]: use(`../../../${to}`), [to]: empty })).toContain(rule);
  });

  it("know a package that is installed as nothing but a dist folder", async () => {
    const found = await broken({
      "apps/api/src/main.ts": use("bullmq"),
      "apps/api/package.json": '{ "dependencies": { "bullmq": "1" } }',
      "node_modules/bullmq/package.json": '{ "name": "bullmq", "type": "module", "exports": { ".": "./dist/index.js" } }',
      "node_modules/bullmq/dist/index.js": empty,
    });
    expect(found).toEqual(["only-queue-knows-bullmq"]);
  });

  it.each<[rule: string, module: string, outsider: string, owner: string]>([
    ["only-db-knows-prisma", "@prisma/client", "apps/api/src/main.ts", "packages/db/src/index.ts"],
    ["only-queue-knows-bullmq", "bullmq", "apps/agent/src/main.ts", "packages/queue/src/index.ts"],
    ["only-queue-knows-bullmq", "ioredis", "packages/telemetry/src/index.ts", "packages/queue/src/index.ts"],
    ["programs-are-started-in-known-places", "node:child_process", "apps/api/src/main.ts", "apps/agent/src/main.ts"],
    ["programs-are-started-in-known-places", "child_process", "packages/queue/src/index.ts", "packages/host/src/index.ts"],
  ])("report %s: %s is not for %s, but for %s", async (rule, module, outsider, owner) => {
    expect(await broken({ [outsider]: use(module) })).toContain(rule);
    await rm(join(root, outsider));
    expect(await broken({ [owner]: use(module) })).not.toContain(rule);
  });

  it("let tests start programs", async () => {
    expect(await broken({ "apps/api/src/server.test.ts": use("node:child_process") })).toEqual([]);
  });

  it("let the SDK take types from the contracts, which vanish when it is built", async () => {
    const types = 'import type { A } from "../../contracts/src/index.ts";\nexport type B = A;\n';
    const found = await broken({ "packages/sdk/src/index.ts": types, "packages/contracts/src/index.ts": "export type A = string;\n" });
    expect(found).not.toContain("sdk-imports-types-only");
  });

  it("do not read what is made from sources, nor hidden folders", async () => {
    const found = await broken({
      "apps/api/src/main.ts": empty,
      "dist/static/graph.js": use("./gone.js"),
      "docs/dist/site.js": use("./gone.js"),
      ".cache/tool.js": use("./gone.js"),
    });
    expect(found).toEqual([]);
  });

  it("report a circle", async () => {
    expect(await broken({ "packages/db/src/a.ts": use("./b.ts"), "packages/db/src/b.ts": use("./a.ts") })).toContain("no-circular");
  });

  it("report an import that leads nowhere", async () => {
    expect(await broken({ "packages/db/src/a.ts": use("./gone.ts") })).toContain("resolvable");
  });
});
