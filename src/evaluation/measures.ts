/** The result of an evaluation. */

import { z } from "zod";
import { checkData } from "../options/data.ts";
import { integer } from "../options/option.ts";

/** Name -> value from 0 to 1. */
export type Measures = Readonly<Record<string, number>>;

/** The default ranks k of measures such as `recall@k`. */
export const DEFAULT_CUTOFFS: readonly number[] = [1, 5, 10, 20, 100];

const cutoffList = z.array(integer(1), "a list of ranks");

/** @throws {InputError} unless `given` is a list of ranks k */
export function checkCutoffs(given: unknown): void {
  checkData(cutoffList, given, { where: "cutoffs", remedy: "write ranks such as [1, 10]" });
}

/** The mean of each measure over `count` queries. A query that is missing in `each` counts 0. */
export function averageMeasures(each: readonly Measures[], count: number): Measures {
  const sums = new Map<string, number>();
  for (const measures of each) {
    for (const [name, value] of Object.entries(measures))
      sums.set(name, (sums.get(name) ?? 0) + value);
  }
  return Object.fromEntries(Array.from(sums, ([name, sum]) => [name, sum / count]));
}
