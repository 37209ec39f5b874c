/** Shape inference for shapes with named axes (see `Dim` in ops.ts). */

import type { Dim, Shape } from "./ops.ts";

/** The axis counted from the start. A negative axis counts from the end. */
export function axisOf(axis: number, rank: number): number {
  const positive = axis < 0 ? axis + rank : axis;
  if (positive < 0 || positive >= rank)
    throw new RangeError(`axis ${axis} of a tensor with ${rank} axes`);
  return positive;
}

/**
 * The shape of an elementwise operation. Assumes that two different names are equal when the graph
 * runs.
 */
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

/** The shape of the concatenation along axis `along`. */
export function concatShape(parts: readonly Shape[], along: number): Shape {
  const first = parts[0]!;
  for (const part of parts)
    if (
      part.length !== first.length ||
      part.some((dim, i) => i !== along && differ(dim, first[i]!))
    )
      throw new RangeError(`concat of [${first}] and [${part}] along axis ${along}`);
  return first.with(along, addDims(parts.map((part) => part[along]!)));
}

export function splitShapes(shape: Shape, along: number, sizes: readonly Dim[]): Shape[] {
  if (differ(addDims(sizes), shape[along]!))
    throw new RangeError(`split of [${shape}] along axis ${along} into ${sizes}`);
  return sizes.map((size) => shape.with(along, size));
}

/**
 * The shape of the slice from `start` to `end` along axis `along`. A negative position counts from
 * the end.
 */
export function slicedShape(shape: Shape, along: number, start: number, end?: number): Shape {
  const size = shape[along]!;
  const at = (position: number): Dim => (position >= 0 ? position : addDims([size, position]));
  const from = at(start);
  const to = end === undefined ? size : at(end);
  if (typeof from === "string" || typeof to === "string")
    return shape.with(along, from === 0 ? to : `(${to})-(${from})`);
  if (from < 0 || to < from || (typeof size === "number" && to > size))
    throw new RangeError(
      `slice of [${shape}] along axis ${along} from ${start} to ${end ?? "its end"}`,
    );
  return shape.with(along, to - from);
}

export function transposedShape(shape: Shape, permutation: readonly number[]): Shape {
  if (permutation.length !== shape.length || shape.some((_, axis) => !permutation.includes(axis)))
    throw new RangeError(`transpose of [${shape}] by [${permutation}]`);
  return permutation.map((axis) => shape[axis]!);
}

/** Returns `to` if `from` broadcasts to it. */
export function expandedShape(from: Shape, to: Shape): Shape {
  const shape = broadcast(from, to);
  if (shape.length !== to.length || shape.some((dim, i) => differ(dim, to[i]!)))
    throw new RangeError(`expand of [${from}] to [${to}]`);
  return to;
}

const differ = (a: Dim, b: Dim): boolean =>
  typeof a === "number" && typeof b === "number" && a !== b;

/** The sum of sizes: a number if all are known, else a name such as `question+passage`. */
function addDims(dims: readonly Dim[]): Dim {
  const known = dims.filter((dim) => typeof dim === "number").reduce((sum, dim) => sum + dim, 0);
  const names = dims.filter((dim) => typeof dim === "string");
  if (names.length === 0) return known;
  return [...names, ...(known ? [known] : [])].join("+");
}

/**
 * Replaces the -1 in `to` by its size: a number if all sizes are known, else a name made from both
 * shapes.
 */
export function resolveReshape(from: Shape, to: Shape): Shape {
  const free = to.indexOf(-1);
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
  const named = above.length + below.length > 0;
  const fits = free < 0 ? product(numerator) === product(denominator) : Number.isInteger(known);
  if (to.lastIndexOf(-1) !== free || !(named || fits))
    throw new RangeError(`reshape of [${from}] to [${to}]`);
  if (free < 0) return to;
  const size = [[...above, ...(known === 1 ? [] : [known])].join("*") || "1", ...below].join("/");
  return to.with(free, named ? size : known);
}

export function reducedShape(shape: Shape, axes: readonly number[], keep: boolean): Shape {
  const reduced = new Set(axes.map((axis) => axisOf(axis, shape.length)));
  return shape.flatMap((dim, i) => (reduced.has(i) ? (keep ? [1] : []) : [dim]));
}
