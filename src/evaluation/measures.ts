/** What an evaluation results in. */

/** Name -> value, 0 to 1. */
export type Measures = Readonly<Record<string, number>>;

/** The ranks k at which rankings are cut, as in `recall@k`. */
export const DEFAULT_CUTOFFS: readonly number[] = [1, 5, 10, 20, 100];

/** The sum of each measure, divided by `count`: what is not in `each` counts 0. */
export function mean(each: readonly Measures[], count: number): Measures {
  const sums = new Map<string, number>();
  for (const measures of each) {
    for (const [name, value] of Object.entries(measures))
      sums.set(name, (sums.get(name) ?? 0) + value);
  }
  return Object.fromEntries(Array.from(sums, ([name, sum]) => [name, sum / count]));
}
