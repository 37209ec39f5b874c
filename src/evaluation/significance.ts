/**
 * What a difference between two systems is worth: intervals and a paired test over queries.
 *
 * Sources: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13 (percentile
 * intervals); Smucker, Allan and Carterette 2007, "A Comparison of Statistical Significance Tests
 * for Information Retrieval Evaluation" (the randomization test).
 */

import { mean } from "../math/mean.ts";
import { createRandom } from "../math/random.ts";
import { groupSums } from "../math/standard-error.ts";

const RESAMPLES = 10_000;
/** The share of resamples that an interval leaves out on each side. */
const TAIL = 0.025;

/** The lowest and the highest value. */
export type Interval = readonly [low: number, high: number];

/**
 * The 95 % interval of a mean: of the means of 10,000 samples of as many values, drawn with
 * replacement. Equal values give the same interval.
 *
 * @param groups of each value: values of one group depend on one another, so groups are drawn, as
 *   many as there are. Default: each value is a group of its own.
 */
export function meanInterval(values: readonly number[], groups?: readonly number[]): Interval {
  const random = createRandom("bootstrap");
  const sums = groupSums(values, groups);
  const sizes = groupSums(Array<number>(values.length).fill(1), groups);
  const means = Array.from({ length: RESAMPLES }, () => {
    let [sum, size] = [0, 0];
    for (let i = 0; i < sums.length; i++) {
      const drawn = random.integer(sums.length);
      sum += sums[drawn]!;
      size += sizes[drawn]!;
    }
    return sum / size;
  }).sort((a, b) => a - b);
  const at = (share: number): number =>
    means[Math.min(RESAMPLES - 1, Math.floor(share * RESAMPLES))]!;
  return [at(TAIL), at(1 - TAIL)];
}

/** A difference of means over the same queries. */
export interface PairedDifference {
  readonly difference: number;
  readonly interval: Interval;
  /**
   * Two-sided: the share of 10,000 random exchanges of the two systems, for each query or group of
   * queries, whose difference is as large. The observed one counts too, so p is never 0.
   */
  readonly p: number;
}

/**
 * `mean(b) - mean(a)`, with its interval and its significance.
 *
 * @param a of each query, by one system
 * @param b of the same queries, by the other
 * @param groups of each query: see `meanInterval`
 */
export function pairedDifference(
  a: readonly number[],
  b: readonly number[],
  groups?: readonly number[],
): PairedDifference {
  const gains = b.map((value, i) => value - a[i]!);
  const difference = mean(gains);
  const sums = groupSums(gains, groups);
  const random = createRandom("randomization");
  // Sums of the same numbers in another order differ in their last digits.
  const least = Math.abs(difference * gains.length) - 1e-9;
  let asLarge = 1;
  for (let trial = 0; trial < RESAMPLES; trial++) {
    let sum = 0;
    for (const gain of sums) sum += random.integer(2) === 0 ? gain : -gain;
    if (Math.abs(sum) >= least) asLarge++;
  }
  return { difference, interval: meanInterval(gains, groups), p: asLarge / (RESAMPLES + 1) };
}
