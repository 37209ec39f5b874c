import * as assert from "uvu/assert";

/** The largest difference of two lists of numbers, as a share of the largest number expected. */
export function relativeDifference(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  assert.is(actual.length, expected.length, "lengths");
  let difference = 0;
  let largest = 0;
  for (let i = 0; i < expected.length; i++) {
    // Equal infinities differ by NaN, and NaN by anything must not pass for a small difference.
    if (!Object.is(actual[i], expected[i])) {
      const apart = Math.abs(actual[i]! - expected[i]!);
      difference = Number.isNaN(apart) ? Number.POSITIVE_INFINITY : Math.max(difference, apart);
    }
    largest = Math.max(largest, Math.abs(expected[i]!));
  }
  return difference === 0 ? 0 : difference / largest;
}

/** Fails when the relative difference of two lists of numbers is above `tolerance`. */
export function assertNear(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number,
  what = "numbers",
): void {
  const difference = relativeDifference(actual, expected);
  assert.ok(
    difference <= tolerance,
    `${what}: relative difference ${difference} is above ${tolerance}`,
  );
}
