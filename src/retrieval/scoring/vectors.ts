/** Products and lengths of vectors, in float64. */

/** The product of `a[i .. i + size)` and `b[j .. j + size)`, summed from first to last. */
export function dotProduct(
  a: Float32Array,
  i: number,
  b: Float32Array,
  j: number,
  size: number,
): number {
  let sum = 0;
  for (let d = 0; d < size; d++) sum += a[i + d]! * b[j + d]!;
  return sum;
}

/** The greatest Euclidean length of a row of [rows, size]. */
export function longestRow(rows: Float32Array, size: number): number {
  let longest = 0;
  for (let start = 0; start < rows.length; start += size) {
    let square = 0;
    for (let i = start; i < start + size; i++) square += rows[i]! * rows[i]!;
    if (!(square <= longest)) longest = square; // true for NaN, too
  }
  return Math.sqrt(longest);
}
