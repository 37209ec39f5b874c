/** Curves of many thousand points as few as a screen can show. */

import type { Point } from "./charts.ts";

/** Neighbouring points: their last step, their mean, their least and greatest value. */
export interface Bucket {
  readonly step: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

const MAX_BUCKETS = 200; // some two pixels each

/** Buckets of equally many points; of one point each where these are few. */
export function thin(points: readonly Point[]): Bucket[] {
  const count = Math.min(points.length, MAX_BUCKETS);
  return Array.from({ length: count }, (_, i) => {
    const start = Math.floor((i * points.length) / count);
    const some = points.slice(start, Math.floor(((i + 1) * points.length) / count));
    const values = some.map(([, value]) => value);
    return {
      step: some.at(-1)![0],
      mean: values.reduce((sum, value) => sum + value, 0) / values.length,
      low: Math.min(...values),
      high: Math.max(...values),
    };
  });
}
