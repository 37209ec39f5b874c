/**
 * The standard error of a mean. Values of one group depend on one another, such as those of queries
 * about one passage; groups do not. With n values x_i of mean m, in G groups,
 *
 *     se^2 = G / (G - 1) * sum over groups of (sum over i of the group of (x_i - m))^2 / n^2
 *
 * If each value is a group of its own, this is sd(x) / sqrt(n). One group has no error: NaN.
 *
 * Source: Liang and Zeger 1986, "Longitudinal Data Analysis Using Generalized Linear Models"; the
 * factor is the usual correction for few groups.
 */

import { mean } from "./mean.ts";

/** @param groups of each value. Default: each value is a group of its own. */
export function standardError(values: readonly number[], groups?: readonly number[]): number {
  const average = mean(values);
  const sums = groupSums(
    values.map((value) => value - average),
    groups,
  );
  const squares = sums.reduce((sum, value) => sum + value ** 2, 0);
  return Math.sqrt((squares * sums.length) / (sums.length - 1)) / values.length;
}

/** The sum of the values of each group, in the order in which groups first appear. */
export function groupSums(values: readonly number[], groups?: readonly number[]): number[] {
  if (!groups) return [...values];
  const sums = new Map<number, number>();
  for (const [i, value] of values.entries())
    sums.set(groups[i]!, (sums.get(groups[i]!) ?? 0) + value);
  return [...sums.values()];
}
