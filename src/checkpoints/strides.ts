/**
 * Strided views of a storage, as in torch and NumPy: element [i, j, ...] of a tensor is value
 * `i * strides[0] + j * strides[1] + ...`, counted from its first value.
 */

import { elementCount } from "./values.ts";

/** Number of storage values from the first value of a view to its last. No size may be 0. */
export function storageSpan(shape: readonly number[], strides: readonly number[]): number {
  return shape.reduce((span, size, axis) => span + (size - 1) * strides[axis]!, 1);
}

/** Whether the values of a view are in row-major order without gaps. */
export function isContiguous(shape: readonly number[], strides: readonly number[]): boolean {
  return shape.every(
    (size, axis) => size === 1 || strides[axis] === elementCount(shape.slice(axis + 1)),
  );
}

/** Copies the values of a view in row-major order. `from` begins with the first value. */
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
