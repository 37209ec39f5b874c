/** Linear least squares with a small ridge. */

/** Rows of values, in row-major order. */
export interface Rows {
  readonly data: Float32Array;
  readonly columns: number;
}

/**
 * The matrix W [y.columns, x.columns] that minimises `sum |W x - y|^2 + n ridge mean(x^2) |W|^2`.
 *
 * Solves the normal equations by Cholesky's decomposition in float64.
 */
export function leastSquares(x: Rows, y: Rows, ridge = 1e-3): Float32Array {
  const size = x.columns;
  const gram = innerProducts(x, x);
  const right = innerProducts(x, y); // [size, y.columns]
  let trace = 0;
  for (let i = 0; i < size; i++) trace += gram[i * size + i]!;
  for (let i = 0; i < size; i++) gram[i * size + i]! += (ridge * trace) / size;
  const factor = cholesky(gram, size);
  const solution = new Float32Array(y.columns * size);
  for (let column = 0; column < y.columns; column++) {
    const b = Float64Array.from({ length: size }, (_, i) => right[i * y.columns + column]!);
    solution.set(solve(factor, b), column * size);
  }
  return solution;
}

/** `x^T y`: [x.columns, y.columns]. */
function innerProducts(x: Rows, y: Rows): Float64Array {
  const sums = new Float64Array(x.columns * y.columns);
  const count = x.data.length / x.columns;
  for (let row = 0; row < count; row++) {
    const ofY = y.data.subarray(row * y.columns, (row + 1) * y.columns);
    for (let i = 0; i < x.columns; i++) {
      const value = x.data[row * x.columns + i]!;
      const first = i * y.columns;
      for (let j = 0; j < y.columns; j++) sums[first + j]! += value * ofY[j]!;
    }
  }
  return sums;
}

/** The lower triangle L of a positive definite matrix L L^T. */
function cholesky(matrix: Float64Array, size: number): Float64Array {
  const lower = new Float64Array(size * size);
  for (let i = 0; i < size; i++)
    for (let j = 0; j <= i; j++) {
      let rest = matrix[i * size + j]!;
      for (let k = 0; k < j; k++) rest -= lower[i * size + k]! * lower[j * size + k]!;
      lower[i * size + j] = i === j ? Math.sqrt(rest) : rest / lower[j * size + j]!;
    }
  return lower;
}

/** x of `L L^T x = b`; overwrites b. */
function solve(lower: Float64Array, b: Float64Array): Float64Array {
  const size = b.length;
  for (let i = 0; i < size; i++) {
    for (let k = 0; k < i; k++) b[i]! -= lower[i * size + k]! * b[k]!;
    b[i]! /= lower[i * size + i]!;
  }
  for (let i = size - 1; i >= 0; i--) {
    for (let k = i + 1; k < size; k++) b[i]! -= lower[k * size + i]! * b[k]!;
    b[i]! /= lower[i * size + i]!;
  }
  return b;
}
