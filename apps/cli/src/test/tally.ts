// SPDX-License-Identifier: Apache-2.0

/** How many tests of a suite ended how. */
export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

export const NONE: Tally = { passed: 0, failed: 0, skipped: 0 };

export function sum(tallies: readonly Tally[]): Tally {
  return tallies.reduce((a, b) => ({ passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped }), NONE);
}

/** A suite that did not end well without any test having failed (it crashed, or hung) counts as one failure. */
export function judged(tally: Tally, endedWell: boolean): Tally {
  return endedWell || tally.failed > 0 ? tally : { ...tally, failed: 1 };
}
