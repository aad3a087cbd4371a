// SPDX-License-Identifier: Apache-2.0
import { z } from "zod";
import type { Tally } from "./tally.ts";

const vitestSchema = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  numTodoTests: z.int().default(0),
});

/** Of vitest's JSON reporter. */
export function vitestTally(text: string): Tally {
  const result = vitestSchema.parse(JSON.parse(text));
  return { passed: result.numPassedTests, failed: result.numFailedTests, skipped: result.numPendingTests + result.numTodoTests };
}

/** Of pytest's JUnit file: the attributes of its testsuite elements. An error (in a fixture, in collecting) is a failure. */
export function junitTally(xml: string): Tally {
  const tally = { passed: 0, failed: 0, skipped: 0 };
  for (const [, attributes = ""] of xml.matchAll(/<testsuite\s([^>]*)>/g)) {
    const count = (name: string): number => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(attributes)?.[1] ?? 0);
    const failed = count("failures") + count("errors");
    tally.failed += failed;
    tally.skipped += count("skipped");
    tally.passed += Math.max(0, count("tests") - failed - count("skipped"));
  }
  return tally;
}
