// SPDX-License-Identifier: Apache-2.0
import { CollimateError } from "@collimate/contracts";

const ATTEMPTS = 5;

/** Repeats a read-then-compare-and-set that must win in the end: the other writer (a node's report) is done by then. */
export async function retryConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof CollimateError) || error.code !== "conflict" || attempt >= ATTEMPTS) throw error;
    }
  }
}
