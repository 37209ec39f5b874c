/**
 * Logistic regression by Newton's method (iteratively reweighted least squares).
 *
 * Source: Hastie, Tibshirani and Friedman, "The Elements of Statistical Learning", second edition,
 * section 4.4.1, with the L2 penalty of section 18.4.
 */

import { logistic } from "../model/signal-calibration.ts";

/** A row of values for each observation. */
type Rows = readonly ArrayLike<number>[];

/** A step that changes no coefficient by more than this ends the iteration. */
const TOLERANCE = 1e-10;
/** Newton's method needs less than ten; separable data with a small penalty need more. */
const MAX_ITERATIONS = 100;
/** Relative rounding error of a loss. */
const ROUNDING = 1e-12;

/**
 * The coefficients `w` with the least penalised negative log likelihood. With
 * `p_i = 1 / (1 + exp(-w . x_i))`:
 *
 *     f(w) = - sum_i c_i (y_i log p_i + (1 - y_i) log(1 - p_i)) + sum_j penalties_j w_j^2 / 2
 *
 * @param rows x: one row for each observation
 * @param labels y: whether the event happened
 * @param penalties one for each column, 0 or more
 * @param counts c: how often each observation counts, 0 or more. Default: once
 */
export function fitLogistic(
  rows: Rows,
  labels: readonly boolean[],
  penalties: readonly number[],
  counts?: ArrayLike<number>,
): number[] {
  let coefficients = penalties.map(() => 0);
  let loss = penalisedLoss(rows, labels, penalties, coefficients, counts);
  for (let iteration = 0; iteration < MAX_ITERATIONS; iteration++) {
    const { gradient, hessian } = derivatives(rows, labels, penalties, coefficients, counts);
    const step = solve(hessian, gradient);
    // A full step far from the minimum can overshoot: halve it until the loss does not grow
    const limit = loss * (1 + ROUNDING);
    let scale = 1;
    let next = moved(coefficients, step, scale);
    while (penalisedLoss(rows, labels, penalties, next, counts) > limit && scale > TOLERANCE) {
      scale /= 2;
      next = moved(coefficients, step, scale);
    }
    coefficients = next;
    loss = penalisedLoss(rows, labels, penalties, coefficients, counts);
    if (Math.max(...step.map(Math.abs)) < TOLERANCE) return coefficients;
  }
  return coefficients;
}

const moved = (from: readonly number[], step: readonly number[], scale: number): number[] =>
  from.map((value, j) => value - scale * step[j]!);

/** f(w) */
export function penalisedLoss(
  rows: Rows,
  labels: readonly boolean[],
  penalties: readonly number[],
  coefficients: readonly number[],
  counts?: ArrayLike<number>,
): number {
  const penalty = penalties.reduce((sum, l2, j) => sum + (l2 * coefficients[j]! ** 2) / 2, 0);
  return rows.reduce((sum, row, i) => {
    const x = labels[i] ? -dot(row, coefficients) : dot(row, coefficients);
    const loss = Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))); // log(1 + exp(x))
    return sum + (counts?.[i] ?? 1) * loss;
  }, penalty);
}

/** The gradient [columns] and the Hessian [columns, columns] of f. */
export function derivatives(
  rows: Rows,
  labels: readonly boolean[],
  penalties: readonly number[],
  coefficients: readonly number[],
  counts?: ArrayLike<number>,
): { gradient: number[]; hessian: number[][] } {
  const gradient = penalties.map((l2, j) => l2 * coefficients[j]!);
  const hessian = penalties.map((l2, j) => penalties.map((_, k) => (j === k ? l2 : 0)));
  for (const [i, row] of rows.entries()) {
    const count = counts?.[i] ?? 1;
    const p = logistic(dot(row, coefficients));
    const [error, curvature] = [count * (p - Number(labels[i])), count * p * (1 - p)];
    for (let j = 0; j < row.length; j++) {
      gradient[j]! += error * row[j]!;
      const line = hessian[j]!;
      const scaled = curvature * row[j]!;
      for (let k = 0; k <= j; k++) line[k]! += scaled * row[k]!; // the lower triangle
    }
  }
  for (const [j, line] of hessian.entries()) for (let k = 0; k < j; k++) hessian[k]![j] = line[k]!;
  return { gradient, hessian };
}

/** Solves A x = b by Gaussian elimination with pivots. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const rows = matrix.map((row, i) => [...row, right[i]!]);
  const size = rows.length;
  for (let column = 0; column < size; column++) {
    const below = rows.slice(column);
    const pivot = below.reduce((a, b) => (Math.abs(b[column]!) > Math.abs(a[column]!) ? b : a));
    const at = rows.indexOf(pivot);
    [rows[column], rows[at]] = [pivot, rows[column]!];
    for (const row of rows.slice(column + 1)) {
      const factor = row[column]! / pivot[column]!;
      for (let k = column; k <= size; k++) row[k]! -= factor * pivot[k]!;
    }
  }
  const solution = new Array<number>(size).fill(0);
  for (let i = size - 1; i >= 0; i--)
    solution[i] = (rows[i]![size]! - dot(rows[i]!.slice(0, size), solution)) / rows[i]![i]!;
  return solution;
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
