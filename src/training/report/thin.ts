/** Reduces curves of many thousand steps to as many points as a screen can show. */

import { mean } from "../../math/mean.ts";
import type { Curve } from "./charts.ts";

/** The values of a curve in each bucket of steps; null if it has none there. */
export interface ThinCurve {
  readonly mean: readonly (number | null)[];
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

export interface ThinCurves {
  /** The last step of each bucket, ascending. */
  readonly steps: readonly number[];
  /** In the order of the given curves. */
  readonly curves: readonly ThinCurve[];
}

const MAX_BUCKETS = 200; // about two pixels each

/** Divides the steps of all curves into at most 200 buckets with equal numbers of steps. */
export function thin(curves: readonly Curve[]): ThinCurves {
  const all = new Set(curves.flatMap(({ points }) => points.map(([step]) => step)));
  const sorted = [...all].sort((a, b) => a - b);
  const count = Math.min(sorted.length, MAX_BUCKETS);
  const bucketOf = new Map(
    sorted.map((step, i) => [step, Math.floor((i * count) / sorted.length)]),
  );
  const steps: number[] = [];
  for (const step of sorted) steps[bucketOf.get(step)!] = step;
  return { steps, curves: curves.map((curve) => thinCurve(curve, count, bucketOf)) };
}

function thinCurve(
  { points }: Curve,
  count: number,
  bucketOf: ReadonlyMap<number, number>,
): ThinCurve {
  const buckets: number[][] = Array.from({ length: count }, () => []);
  for (const [step, value] of points) buckets[bucketOf.get(step)!]!.push(value);
  const reduced = (reduce: (values: readonly number[]) => number): (number | null)[] =>
    buckets.map((values) => (values.length === 0 ? null : reduce(values)));
  return {
    mean: reduced(mean),
    low: reduced((values) => Math.min(...values)),
    high: reduced((values) => Math.max(...values)),
  };
}
