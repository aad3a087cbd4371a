// SPDX-License-Identifier: Apache-2.0
/** One measured quantity: every run's value, and the median that stands for them. */
export interface Figure {
  readonly unit: Unit;
  readonly median: number;
  readonly samples: readonly number[];
}

export type Unit = "ms" | "MiB" | "count" | "ratio";

/** The middle value; of an even number the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error("the median of nothing");
  const sorted = values.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const [below, above] = [sorted[half - 1] ?? 0, sorted[half] ?? 0];
  return sorted.length % 2 === 1 ? above : (below + above) / 2;
}

export function figure(unit: Unit, samples: readonly number[]): Figure {
  return { unit, median: round(median(samples)), samples: samples.map(round) };
}

/** Three decimals: more says nothing, and makes the result hard to read. */
const round = (value: number): number => Math.round(value * 1_000) / 1_000;

/** Collects the runs' values by name, so that a run adds what it measured in one statement. */
export class Samples {
  readonly #byName = new Map<string, { unit: Unit; values: number[] }>();

  add(unit: Unit, values: Readonly<Record<string, number>>): void {
    for (const [name, value] of Object.entries(values)) {
      const kept = this.#byName.get(name) ?? { unit, values: [] };
      kept.values.push(value);
      this.#byName.set(name, kept);
    }
  }

  /** Takes over all values of another collection. */
  take(others: Samples): void {
    for (const [name, { unit, values }] of others.#byName) for (const value of values) this.add(unit, { [name]: value });
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  median(name: string): number {
    return median(this.#byName.get(name)?.values ?? []);
  }

  figures(): Record<string, Figure> {
    return Object.fromEntries([...this.#byName].map(([name, { unit, values }]) => [name, figure(unit, values)]));
  }
}
