/** Means. */

/**
 * The arithmetic mean, summed from first to last in float64; 0 for no values.
 *
 * @example
 * ```ts
 * mean([1, 2, 6]); // 3
 * ```
 */
export function mean(values: readonly number[]): number {
  if (values.length === 0) return 0;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
