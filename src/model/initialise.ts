/** Random weights to train from scratch, by what each kind of layers says about its weights. */

import { createRandom } from "../math/random.ts";
import type { ModelConfig } from "./config.ts";
import { parameterTable, type WeightShape } from "./parameter-names.ts";

/**
 * Every weight of the model by its name. `seed` and the name determine the random stream of a
 * weight.
 */
export const initialWeights = (
  config: ModelConfig,
  seed: number | string,
): Map<string, Float32Array> =>
  new Map(
    [...parameterTable(config)].map(([name, weight]) => [name, initialWeight(name, weight, seed)]),
  );

/** One of the weights of `initialWeights`. */
export function initialWeight(
  name: string,
  { shape, start }: WeightShape,
  seed: number | string,
): Float32Array {
  const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
  if (start === "ones") return values.fill(1);
  return start === 0 ? values : drawNormal(values, start, seed, name);
}

/** Fills `values` from a normal distribution with mean 0 (Box and Muller 1958). */
function drawNormal(
  values: Float32Array,
  deviation: number,
  seed: number | string,
  name: string,
): Float32Array {
  const random = createRandom(seed, "initial weights", name);
  for (let i = 0; i < values.length; i += 2) {
    const radius = deviation * Math.sqrt(-2 * Math.log(1 - random.next()));
    const angle = 2 * Math.PI * random.next();
    values[i] = radius * Math.cos(angle);
    values[i + 1] = radius * Math.sin(angle); // past the end of an odd length, this has no effect
  }
  return values;
}
