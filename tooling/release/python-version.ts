// SPDX-License-Identifier: Apache-2.0
/** Python writes pre-releases its own way (PEP 440: 1.0.0a1), nx release thinks in semver (1.0.0-alpha.1). */
const PRE_OF_PYTHON = { a: "alpha", b: "beta", rc: "rc" } as const;
const PYTHON_VERSION = /^(\d+\.\d+\.\d+)(?:(a|b|rc)(\d+))?$/;
const SEMVER = /^(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.(\d+))?$/;

export function toSemver(python: string): string {
  const [, base, pre, count] = PYTHON_VERSION.exec(python) ?? [];
  if (base === undefined) throw new Error(`not a version this project uses: ${python} (wanted: 1.2.3, 1.2.3a1, 1.2.3b1 or 1.2.3rc1)`);
  return pre === "a" || pre === "b" || pre === "rc" ? `${base}-${PRE_OF_PYTHON[pre]}.${count}` : base;
}

export function toPython(semver: string): string {
  const [, base, pre, count] = SEMVER.exec(semver) ?? [];
  if (base === undefined) throw new Error(`no Python version can say ${semver} (wanted: 1.2.3, or 1.2.3-alpha.1, -beta.1, -rc.1)`);
  const short = Object.entries(PRE_OF_PYTHON).find(([, long]) => long === pre)?.[0];
  return short === undefined ? base : `${base}${short}${count}`;
}
