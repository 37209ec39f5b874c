/** Arithmetic on shapes whose axes may be names (see `Dim` in ops.ts). */

import type { Dim, Shape } from "./ops.ts";

export function axisOf(axis: number, rank: number): number {
  const positive = axis < 0 ? axis + rank : axis;
  if (positive < 0 || positive >= rank) throw new RangeError(`axis ${axis} of a tensor with ${rank} axes`);
  return positive;
}

/** The shape of `a op b` for an elementwise operation. Two different names are taken to be equal when the graph runs. */
export function broadcast(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const left = a[i - rank + a.length] ?? 1;
    const right = b[i - rank + b.length] ?? 1;
    if (left === 1) return right;
    if (right === 1 || left === right || typeof left === "string")
      return typeof left === "string" && typeof right === "number" && right !== 1 ? right : left;
    if (typeof right === "string") return left;
    throw new RangeError(`shapes [${a}] and [${b}] do not broadcast`);
  });
}

export function matmulShape(a: Shape, b: Shape): Shape {
  const inner = a.at(-1);
  if (typeof inner === "number" && typeof b.at(-2) === "number" && inner !== b.at(-2))
    throw new RangeError(`matmul of [${a}] and [${b}]`);
  return [...broadcast(a.slice(0, -2), b.slice(0, -2)), a.at(-2)!, b.at(-1)!];
}

/** A sum of axes, as a number if all are known, else as a name such as `question+passage`. */
export function addDims(dims: readonly Dim[]): Dim {
  const known = dims.filter((dim) => typeof dim === "number").reduce((sum, dim) => sum + dim, 0);
  const names = dims.filter((dim) => typeof dim === "string");
  if (names.length === 0) return known;
  return [...names, ...(known ? [known] : [])].join("+");
}

/** What the -1 of a reshape stands for, as a number if all is known, else as a name made of both shapes. */
export function resolveReshape(from: Shape, to: Shape): Shape {
  const free = to.indexOf(-1);
  if (free < 0) return to;
  const numerator = [...from];
  const denominator = to.filter((_, i) => i !== free);
  for (const dim of to) {
    const same = typeof dim === "string" ? numerator.indexOf(dim) : -1;
    if (same >= 0) {
      numerator.splice(same, 1);
      denominator.splice(denominator.indexOf(dim), 1);
    }
  }
  const product = (dims: readonly Dim[]): number =>
    dims.reduce<number>((p, dim) => (typeof dim === "number" ? p * dim : p), 1);
  const known = product(numerator) / product(denominator);
  const above = numerator.filter((dim) => typeof dim === "string");
  const below = denominator.filter((dim) => typeof dim === "string");
  const size: Dim =
    above.length + below.length === 0
      ? known
      : [[...above, ...(known === 1 ? [] : [known])].join("*") || "1", ...below].join("/");
  if (typeof size === "number" && !Number.isInteger(size))
    throw new RangeError(`reshape of [${from}] to [${to}]`);
  return to.map((dim, i) => (i === free ? size : dim));
}

export function reducedShape(shape: Shape, axes: readonly number[], keep: boolean): Shape {
  const reduced = new Set(axes.map((axis) => axisOf(axis, shape.length)));
  return shape.flatMap((dim, i) => (reduced.has(i) ? (keep ? [1] : []) : [dim]));
}
