// SPDX-License-Identifier: Apache-2.0
/** `collimate test --full`: the counts that take long. The only place that reads its variable in TypeScript. */
const FULL = process.env["COLLIMATE_TEST_FULL"] === "1";

/** How many of something a test makes. Give its limit of time the same treatment where the count decides how long it takes. */
export function often(normally: number, inFull: number): number {
  return FULL ? inFull : normally;
}
