/** Tensors and shapes to try the tensor language with. */

import fc from "fast-check";
import { createRandom } from "../../src/math/random.ts";
import type { Tensor } from "../../src/tensor/ops.ts";
import { tabulate } from "./naive-ops.ts";

/** Uniform numbers between `low` and `high`. */
export function drawn(
  shape: readonly number[],
  low = -3,
  high = 3,
  seed: number | string = "x",
): Tensor {
  const random = createRandom("drawn", seed, ...shape);
  return tabulate(shape, () => low + (high - low) * random.next());
}

/** Whole numbers from 0 to `below - 1`. */
export function whole(
  shape: readonly number[],
  below: number,
  type: "float32" | "int32",
  seed: number | string = "whole",
): Tensor {
  const random = createRandom(seed, ...shape);
  return tabulate(shape, () => random.integer(below), type);
}

export const shapeOf = (minLength: number, maxLength: number): fc.Arbitrary<number[]> =>
  fc.array(fc.integer({ min: 1, max: 4 }), { minLength, maxLength });

export const permutationOf = (length: number): fc.Arbitrary<number[]> =>
  fc.shuffledSubarray([...Array(length).keys()], { minLength: length });

/** Two shapes that broadcast to one: an axis is in both, or is 1 or missing in one of them. */
export const broadcastable: fc.Arbitrary<[number[], number[]]> = shapeOf(0, 4).chain((shape) => {
  const side = fc
    .tuple(
      fc.array(fc.boolean(), { minLength: shape.length, maxLength: shape.length }),
      fc.nat(shape.length),
    )
    .map(([single, dropped]) =>
      shape.map((size, axis) => (single[axis] ? 1 : size)).slice(dropped),
    );
  return fc.tuple(side, side);
});
