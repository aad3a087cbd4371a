// SPDX-License-Identifier: Apache-2.0
/** Reads and replaces the version in a manifest's text, touching nothing else of it. */
import { toPython, toSemver } from "./python-version.ts";

export interface ManifestFormat {
  readonly filename: string;
  /** The version as semver. */
  read(text: string): string;
  /** The same text with the version (semver) in it. */
  write(text: string, version: string): string;
}

interface Place {
  readonly before: string;
  readonly version: string;
  readonly after: string;
}

/** Cuts the text around its version; `pattern` has three groups: what leads to it, the version, what closes it. */
function onlyMatch(text: string, pattern: RegExp, filename: string): Place {
  const match = pattern.exec(text);
  const [whole, lead, version] = match ?? [];
  if (match === null || whole === undefined || lead === undefined || version === undefined) {
    throw new Error(`${filename} has no version of its own`);
  }
  const at = match.index + lead.length;
  return { before: text.slice(0, at), version, after: text.slice(at + version.length) };
}

const replaced = (place: Place, version: string): string => `${place.before}${version}${place.after}`;

// Two blanks deep: a version of the package itself, not of something nested.
const NPM_LINE = /(^ {2}"version": ")([^"]+)(")/m;
// The first `version = "..."` below [project] and before the next table.
const PYTHON_LINE = /(^\[project\]\n(?:(?!\[)[^\n]*\n)*?version = ")([^"]+)(")/m;

export const PACKAGE_JSON: ManifestFormat = {
  filename: "package.json",
  read: (text) => onlyMatch(text, NPM_LINE, "package.json").version,
  write: (text, version) => replaced(onlyMatch(text, NPM_LINE, "package.json"), version),
};

export const PYPROJECT: ManifestFormat = {
  filename: "pyproject.toml",
  read: (text) => toSemver(onlyMatch(text, PYTHON_LINE, "pyproject.toml").version),
  write: (text, version) => replaced(onlyMatch(text, PYTHON_LINE, "pyproject.toml"), toPython(version)),
};
