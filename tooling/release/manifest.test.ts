// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { PACKAGE_JSON, PYPROJECT } from "./manifest.ts";
import { toPython, toSemver } from "./python-version.ts";

describe("the version in package.json", () => {
  const text = '{\n  "name": "a",\n  "volta": {\n    "version": "9.9.9"\n  },\n  "version": "1.0.0-alpha.1",\n  "type": "module"\n}\n';
  it("is the package's own, and is all that changes", () => {
    expect(PACKAGE_JSON.read(text)).toBe("1.0.0-alpha.1");
    expect(PACKAGE_JSON.write(text, "1.0.0")).toBe(text.replace("1.0.0-alpha.1", "1.0.0"));
  });
});

describe("the version in pyproject.toml", () => {
  const text = '[build-system]\nversion = "7.7.7"\n\n[project]\nname = "a"\nversion = "1.0.0a1"\n\n[tool.x]\nversion = "8.8.8"\n';
  it("is the project's own, and is all that changes", () => {
    expect(PYPROJECT.read(text)).toBe("1.0.0-alpha.1");
    expect(PYPROJECT.write(text, "1.0.0-rc.2")).toBe(text.replace("1.0.0a1", "1.0.0rc2"));
  });
  it("is never another table's", () => {
    expect(() => PYPROJECT.read('[project]\nname = "a"\n[tool.x]\nversion = "8.8.8"\n')).toThrowError(/no version of its own/);
  });
});

describe("Python's way of writing a version", () => {
  it.each([
    ["1.2.3", "1.2.3"],
    ["1.0.0a1", "1.0.0-alpha.1"],
    ["1.0.0b12", "1.0.0-beta.12"],
    ["2.0.0rc1", "2.0.0-rc.1"],
  ])("%s is %s", (python, semver) => {
    expect(toSemver(python)).toBe(semver);
    expect(toPython(semver)).toBe(python);
  });
  it("refuses what the other side cannot say", () => {
    expect(() => toSemver("1.0.0.post1")).toThrowError(/1.0.0.post1/);
    expect(() => toPython("1.0.0-next.1")).toThrowError(/1.0.0-next.1/);
  });
});
