/** Matrices of a conversion: rows of states, and linear maps between them. */

import type { Rows } from "./least-squares.ts";

/** All values of the arrays in one. */
export function joined(arrays: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(arrays.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const array of arrays) {
    all.set(array, at);
    at += array.length;
  }
  return all;
}

/** All rows of all arrays, each divided by its root mean square: T5's norm without weights. */
export function normedRows(arrays: readonly Float32Array[], columns: number): Rows {
  const data = joined(arrays);
  for (let at = 0; at < data.length; at += columns) {
    const row = data.subarray(at, at + columns);
    const size = Math.sqrt(row.reduce((sum, x) => sum + x * x, 0) / columns);
    row.forEach((x, i) => {
      row[i] = x / size;
    });
  }
  return { data, columns };
}

/** [rows, inner] x [inner, columns] */
export function multiply(
  a: Float32Array,
  b: Float32Array,
  inner: number,
  columns: number,
): Float32Array {
  const rows = a.length / inner;
  const product = new Float32Array(rows * columns);
  for (let r = 0; r < rows; r++)
    for (let k = 0; k < inner; k++) {
      const value = a[r * inner + k]!;
      for (let c = 0; c < columns; c++) product[r * columns + c]! += value * b[k * columns + c]!;
    }
  return product;
}

/** The share of the variance of `y` that the map [y.columns, x.columns] of `x` explains. */
export function explained(x: Rows, y: Rows, map: Float32Array): number {
  const predicted = multiply(x.data, transposed(map, x.columns), x.columns, y.columns);
  const count = y.data.length / y.columns;
  const means = new Float64Array(y.columns);
  y.data.forEach((value, i) => {
    means[i % y.columns]! += value / count;
  });
  let [rest, total] = [0, 0];
  y.data.forEach((value, i) => {
    rest += (value - predicted[i]!) ** 2;
    total += (value - means[i % y.columns]!) ** 2;
  });
  return 1 - rest / total;
}

function transposed(matrix: Float32Array, columns: number): Float32Array {
  const rows = matrix.length / columns;
  const result = new Float32Array(matrix.length);
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) result[c * rows + r] = matrix[r * columns + c]!;
  return result;
}
