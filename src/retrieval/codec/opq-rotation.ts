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
/** A correlation of two axes far below what float32 rounding leaves. */
const NEGLIGIBLE = 1e-9;

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
  /** As the function `rotate`, but in float32. */
  rotate(rows: Float32Array): Promise<Float32Array>;
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
    async rotate(rows) {
      const shape = [rows.length / dimension, dimension];
      const { rotated } = await session.run<"rotated">({ rows: { data: rows, shape } });
      return rotated.data as Float32Array;
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

/** The products of all pairs of columns: [dimension, dimension]. */
async function secondMoments(rows: Float32Array, dimension: number): Promise<Float64Array[]> {
  const graph = trace({ rows: ["float32", "row", dimension] }, (ops, { rows }) => ({
    moments: ops.matmul(ops.transpose(rows, [1, 0]), rows),
  }));
  await using session = await compile(graph);
  const shape = [rows.length / dimension, dimension];
  const { moments } = await session.run<"moments">({ rows: { data: rows, shape } });
  const values = moments.data as Float32Array;
  return Array.from({ length: dimension }, (_, row) =>
    Float64Array.from(values.subarray(row * dimension, (row + 1) * dimension)),
  );
}

/**
 * Eigenvalues and orthonormal eigenvectors (rows) of a symmetric matrix, which is overwritten.
 * Source: Golub and Van Loan, Matrix Computations, section 8.5 (cyclic Jacobi).
 */
function eigen(
  matrix: Float64Array[],
  size: number,
): { values: number[]; vectors: Float64Array[] } {
  const vectors = Array.from({ length: size }, (_, i) => new Float64Array(size).fill(1, i, i + 1));
  for (let sweep = 0; sweep < SWEEPS; sweep++)
    for (let p = 0; p < size; p++)
      for (let q = p + 1; q < size; q++) {
        const off = matrix[p]![q]!;
        if (off * off <= NEGLIGIBLE ** 2 * matrix[p]![p]! * matrix[q]![q]!) continue;
        const tau = (matrix[q]![q]! - matrix[p]![p]!) / (2 * off);
        const tangent = (tau < 0 ? -1 : 1) / (Math.abs(tau) + Math.hypot(1, tau));
        const cosine = 1 / Math.hypot(1, tangent);
        const sine = tangent * cosine;
        for (const row of matrix) turn(row, p, row, q, cosine, sine);
        for (let i = 0; i < size; i++) {
          turn(matrix[p]!, i, matrix[q]!, i, cosine, sine);
          turn(vectors[p]!, i, vectors[q]!, i, cosine, sine);
        }
      }
  return { values: matrix.map((row, i) => row[i]!), vectors };
}

function turn(
  a: Float64Array,
  i: number,
  b: Float64Array,
  j: number,
  cosine: number,
  sine: number,
): void {
  const [x, y] = [a[i]!, b[j]!];
  a[i] = cosine * x - sine * y;
  b[j] = sine * x + cosine * y;
}
