/** Examples that are not trained on, to measure retrieval with. */

import { createRandom } from "../../math/random.ts";

/** The share of the examples to hold out, if that is fewer than the maximum. */
const HELD_OUT_SHARE = 0.1;

/** Examples to train on, and examples to measure with. */
export interface Split<T> {
  readonly training: readonly T[];
  readonly heldOut: readonly T[];
}

/** Number of examples to hold out: a tenth, at most `max`. */
export const heldOutCount = (examples: number, max: number): number =>
  Math.min(max, Math.floor(examples * HELD_OUT_SHARE));

/** Holds out a random tenth of the examples, at most `max`. Both parts keep their order. */
export function holdOut<T>(examples: readonly T[], seed: number, max: number): Split<T> {
  const places = new Set(
    createRandom(seed, "held out")
      .shuffle([...examples.keys()])
      .slice(0, heldOutCount(examples.length, max)),
  );
  return {
    training: examples.filter((_, i) => !places.has(i)),
    heldOut: examples.filter((_, i) => places.has(i)),
  };
}
