/** How a weight is declared. */

import type { AffineParameters } from "./parameters.ts";

/**
 * The values that a weight starts with: the standard deviation of a normal distribution with mean
 * 0, or `ones`.
 */
export type Start = number | "ones";

/** Makes a leaf of the parameter tree from the name, the shape and the start of a weight. */
export type Leaf<T> = (name: string, shape: readonly number[], start: Start) => T;

/** A linear layer with a bias. */
export const affineLeaf = <T>(
  leaf: Leaf<T>,
  name: string,
  [out, width]: readonly [number, number],
  deviation: number,
): AffineParameters<T> => ({
  weight: leaf(`${name}.weight`, [out, width], deviation),
  bias: leaf(`${name}.bias`, [out], 0),
});

/** A norm with a bias. */
export const normLeaf = <T>(leaf: Leaf<T>, name: string, width: number): AffineParameters<T> => ({
  weight: leaf(`${name}.weight`, [width], "ones"),
  bias: leaf(`${name}.bias`, [width], 0),
});
