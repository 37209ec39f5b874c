/**
 * Views of stored numbers: element [i, j, ...] of a tensor is number `i * strides[0] + j * strides[1] + ...`, counted from its
 * first, as in torch and NumPy.
 */

import { elementCount } from "./values.ts";

/** How many numbers of the storage there are from the first of a view to its last. No size may be 0. */
export function spanOf(shape: readonly number[], strides: readonly number[]): number {
  return shape.reduce((span, size, axis) => span + (size - 1) * strides[axis]!, 1);
}

/** Whether the numbers of a view stand in row-major order without gaps. */
export function isContiguous(shape: readonly number[], strides: readonly number[]): boolean {
  return shape.every(
    (size, axis) => size === 1 || strides[axis] === elementCount(shape.slice(axis + 1)),
  );
}

/** The numbers of a view in row-major order; `from` begins with its first. */
export function gather(
  from: Float32Array,
  shape: readonly number[],
  strides: readonly number[],
): Float32Array {
  const to = new Float32Array(elementCount(shape));
  const index = shape.map(() => 0);
  let position = 0;
  for (let i = 0; i < to.length; i++) {
    to[i] = from[position]!;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      position += strides[axis]!;
      index[axis]!++;
      if (index[axis]! < shape[axis]!) break;
      position -= shape[axis]! * strides[axis]!;
      index[axis] = 0;
    }
  }
  return to;
}
