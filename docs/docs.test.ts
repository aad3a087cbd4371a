// SPDX-License-Identifier: Apache-2.0
import { CollimateError, errorBody, errorCodeSchema } from "@collimate/contracts";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { errorPages } from "./error-pages.ts";

const ROOT = join(import.meta.dirname, "..");
const ERRORS = join(import.meta.dirname, "errors");

describe("the error pages", () => {
  it("are those of the catalogue as it is now", () => {
    const written = new Map(readdirSync(ERRORS).map((name) => [name, readFileSync(join(ERRORS, name), "utf8")]));
    expect(written, "run `node docs/generate-errors.ts`").toEqual(errorPages());
  });

  it.each(errorCodeSchema.options)("have the page that doc_url of %s leads to", (code) => {
    const { doc_url } = errorBody(new CollimateError(code, "x"), "req_1");
    expect(existsSync(join(ROOT, `${doc_url}.md`))).toBe(true);
  });
});

describe("the documents", () => {
  const pages = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".md") && !name.includes("node_modules"),
  );

  it.each(pages)("%s links to files that are there", (name) => {
    const file = join(import.meta.dirname, name);
    const targets = [...readFileSync(file, "utf8").matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)].map((match) => match[1] ?? "");
    expect(targets.filter((target) => !existsSync(resolve(dirname(file), target)))).toEqual([]);
  });

  it("are all found from the index", () => {
    const index = readFileSync(join(import.meta.dirname, "README.md"), "utf8");
    const own = pages.filter((name) => !name.includes("/") && name !== "README.md");
    expect(own.filter((name) => !index.includes(`(${name})`))).toEqual([]);
  });
});
