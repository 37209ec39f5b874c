/** Principal component analysis by subspace iteration. */

import { orthonormalised, orthonormalRows } from "./orthonormal.ts";

const ITERATIONS = 30;

/**
 * The `count` directions of greatest variance, orthonormal and orthogonal to the mean.
 *
 * @param rows vectors of one size
 */
export function principalComponents(
  rows: readonly Float32Array[],
  count: number,
  seed: string,
): Float32Array[] {
  const size = rows[0]!.length;
  const covariance = secondMoments(rows);
  const mean = new Float32Array(size);
  for (const row of rows)
    row.forEach((x, i) => {
      mean[i]! += x / rows.length;
    });
  let basis = orthonormalRows(count, { size, seed });
  for (let i = 0; i < ITERATIONS; i++) {
    const multiplied = basis.map((row) => covariance.map((column) => inner(column, row)));
    basis = orthonormalised([mean, ...multiplied.map((row) => Float32Array.from(row))]).slice(1);
  }
  return basis;
}

/** `1/n sum of x x^T`: rows of a symmetric matrix. */
function secondMoments(rows: readonly Float32Array[]): Float32Array[] {
  const size = rows[0]!.length;
  const moments = Array.from({ length: size }, () => new Float32Array(size));
  for (const row of rows)
    row.forEach((x, i) => {
      const target = moments[i]!;
      for (let j = 0; j < size; j++) target[j]! += (x * row[j]!) / rows.length;
    });
  return moments;
}

function inner(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
