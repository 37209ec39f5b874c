/**
 * The rotation of optimised product quantisation. It spreads the variance evenly over the
 * subspaces: the principal axes are assigned to subspaces so that the product of the variances is
 * about the same in each.
 * Source: Ge et al., Optimized product quantization, 2014, section 4 (parametric solution,
 * eigenvalue allocation).
 */

import { compile } from "../../tensor/session.ts";
import { trace } from "../../tensor/trace.ts";
import { dotProduct } from "../scoring/vectors.ts";
import { subquantiserStarts } from "./codec.ts";

const SWEEPS = 12; // Jacobi's method converges in fewer sweeps
/** Rows whose products are computed together: 4 MB of 256 values. */
const BATCH_ROWS = 4_096;
/** A correlation of two axes far below what float32 rounding leaves. */
const NEGLIGIBLE = 1e-7;

/**
 * Learns a rotation, [dimension, dimension], from `rows`, [n, dimension]. Each row of the rotation
 * is an axis; the axes of the first subspace come first.
 */
export async function learnRotation(
  rows: Float32Array,
  dimension: number,
  subquantisers: number,
): Promise<Float32Array> {
  const { values, vectors } = eigen(await secondMoments(rows, dimension), dimension);
  const least = Math.max(...values) * 1e-9;
  const excess = values.map((value) => Math.log(Math.max(value, least) / least));
  const largestFirst = values.map((_, axis) => axis).sort((a, b) => values[b]! - values[a]!);
  const starts = subquantiserStarts(dimension, subquantisers);
  const assigned = Array.from({ length: subquantisers }, (): number[] => []);
  const sums = new Float64Array(subquantisers);
  for (const axis of largestFirst) {
    let lightest = -1;
    for (let subspace = 0; subspace < subquantisers; subspace++) {
      const hasRoom = assigned[subspace]!.length < starts[subspace + 1]! - starts[subspace]!;
      if (hasRoom && (lightest < 0 || sums[subspace]! < sums[lightest]!)) lightest = subspace;
    }
    assigned[lightest]!.push(axis);
    sums[lightest]! += excess[axis]!;
  }
  return Float32Array.from(assigned.flat().flatMap((axis) => [...vectors[axis]!]));
}

/** Rotates rows, [n, dimension]. The product of two rotated vectors is that of the vectors. */
export function rotate(
  rows: Float32Array,
  rotation: Float32Array,
  dimension: number,
): Float32Array {
  const rotated = new Float32Array(rows.length);
  for (let row = 0; row < rows.length; row += dimension)
    for (let axis = 0; axis < dimension; axis++)
      rotated[row + axis] = dotProduct(rows, row, rotation, axis * dimension, dimension);
  return rotated;
}

/** Rotates rows back: the inverse of `rotate`, which is the transpose of the rotation. */
export function rotateBack(
  rows: Float32Array,
  rotation: Float32Array,
  dimension: number,
): Float32Array {
  const result = new Float32Array(rows.length);
  for (let row = 0; row < rows.length; row += dimension)
    for (let axis = 0; axis < dimension; axis++)
      for (let d = 0; d < dimension; d++)
        result[row + d]! += rows[row + axis]! * rotation[axis * dimension + d]!;
  return result;
}

export interface Rotator extends AsyncDisposable {
  /** As the function `rotate`, but in float32. `into` gives memory for the result. */
  rotate(rows: Float32Array, into?: Float32Array): Promise<Float32Array>;
}

/** Opens `rotate` on onnxruntime, for many rows. */
export async function openRotator(rotation: Float32Array, dimension: number): Promise<Rotator> {
  const graph = trace({ rows: ["float32", "row", dimension] }, (ops, { rows }) => ({
    rotated: ops.matmul(
      rows,
      ops.transpose(ops.parameter("rotation", [dimension, dimension]), [1, 0]),
    ),
  }));
  const session = await compile(graph, { weights: new Map([["rotation", rotation]]) });
  return {
    async rotate(rows, into) {
      const shape = [rows.length / dimension, dimension];
      const outputs = into && { rotated: { data: into, shape } };
      const feeds = { rows: { data: rows, shape } };
      const { rotated } = await session.run<"rotated">(feeds, undefined, outputs);
      return rotated.data as Float32Array;
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

/** The products of all pairs of columns, summed by batches of rows: [dimension, dimension]. */
async function secondMoments(rows: Float32Array, dimension: number): Promise<Float64Array[]> {
  const graph = trace({ rows: ["float32", "row", dimension] }, (ops, { rows }) => ({
    moments: ops.matmul(ops.transpose(rows, [1, 0]), rows),
  }));
  await using session = await compile(graph);
  const sums = Array.from({ length: dimension }, () => new Float64Array(dimension));
  for (let at = 0; at < rows.length; at += BATCH_ROWS * dimension) {
    const data = rows.subarray(at, at + BATCH_ROWS * dimension);
    const shape = [data.length / dimension, dimension];
    const { moments } = await session.run<"moments">({ rows: { data, shape } });
    for (const [row, sum] of sums.entries())
      for (let column = 0; column < dimension; column++)
        sum[column]! += moments.data[row * dimension + column]!;
  }
  return sums;
}

/**
 * Eigenvalues and orthonormal eigenvectors (rows) of a symmetric matrix without negative
 * eigenvalues, which is overwritten. Rotations of pairs of its rows make all rows orthogonal; then
 * they are the eigenvectors times the eigenvalues. The same rotations of the identity give the
 * vectors of eigenvalues that are zero, too.
 * Source: Golub and Van Loan, Matrix Computations, section 8.6 (one-sided Jacobi).
 */
function eigen(
  matrix: readonly Float64Array[],
  size: number,
): { values: number[]; vectors: Float64Array[] } {
  const vectors = matrix.map((_, i) => new Float64Array(size).fill(1, i, i + 1));
  for (let sweep = 0, turned = 1; turned > 0 && sweep < SWEEPS; sweep++) {
    turned = 0;
    const squares = matrix.map((row) => product(row, row));
    for (let p = 0; p < size; p++)
      for (let q = p + 1; q < size; q++) {
        const both = product(matrix[p]!, matrix[q]!);
        if (both * both <= NEGLIGIBLE ** 2 * squares[p]! * squares[q]!) continue;
        const tau = (squares[q]! - squares[p]!) / (2 * both);
        const tangent = (tau < 0 ? -1 : 1) / (Math.abs(tau) + Math.sqrt(1 + tau * tau));
        const cosine = 1 / Math.sqrt(1 + tangent * tangent);
        turn(matrix[p]!, matrix[q]!, cosine, tangent * cosine);
        turn(vectors[p]!, vectors[q]!, cosine, tangent * cosine);
        squares[p]! -= tangent * both;
        squares[q]! += tangent * both;
        turned++;
      }
  }
  return { values: matrix.map((row) => Math.sqrt(product(row, row))), vectors };
}

/** Four sums, because each addition waits for the one before. */
function product(a: Float64Array, b: Float64Array): number {
  let [w, x, y, z] = [0, 0, 0, 0];
  let i = 0;
  for (; i + 3 < a.length; i += 4) {
    w += a[i]! * b[i]!;
    x += a[i + 1]! * b[i + 1]!;
    y += a[i + 2]! * b[i + 2]!;
    z += a[i + 3]! * b[i + 3]!;
  }
  for (; i < a.length; i++) w += a[i]! * b[i]!;
  return w + x + (y + z);
}

function turn(a: Float64Array, b: Float64Array, cosine: number, sine: number): void {
  for (let i = 0; i < a.length; i++) {
    const x = a[i]!;
    const y = b[i]!;
    a[i] = cosine * x - sine * y;
    b[i] = sine * x + cosine * y;
  }
}
