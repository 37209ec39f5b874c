import * as assert from "uvu/assert";

/** The largest difference of two arrays, divided by the largest expected value. */
export function relativeDifference(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  assert.is(actual.length, expected.length, "lengths");
  let difference = 0;
  let largest = 0;
  for (let i = 0; i < expected.length; i++) {
    // Infinity minus infinity is NaN. A NaN on one side must not pass as a small difference.
    if (!Object.is(actual[i], expected[i])) {
      const apart = Math.abs(actual[i]! - expected[i]!);
      difference = Number.isNaN(apart) ? Number.POSITIVE_INFINITY : Math.max(difference, apart);
    }
    largest = Math.max(largest, Math.abs(expected[i]!));
  }
  return difference === 0 ? 0 : difference / largest;
}

/** Fails if the relative difference of two arrays is above `tolerance`. */
export function assertNear(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number,
  what = "values",
): void {
  const difference = relativeDifference(actual, expected);
  assert.ok(
    difference <= tolerance,
    `${what}: relative difference ${difference} is above ${tolerance}`,
  );
}
