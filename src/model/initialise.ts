/**
 * Random weights to train from scratch: T5's, as Hugging Face transformers draws them (`T5PreTrainedModel._init_weights`
 * with `initializer_factor` 1).
 *
 * The products that other models divide by the square root of the head size T5 leaves alone; its queries begin smaller
 * by that much instead.
 */

import { createRandom } from "../math/random.ts";
import type { ModelConfig } from "./config.ts";
import { parameterShapes } from "./parameter-names.ts";

/** The standard deviation of a weight, by the last part of its name that is not `weight`. Norms, which are not here, are 1. */
const STANDARD_DEVIATIONS: Readonly<Record<string, (config: ModelConfig) => number>> = {
  shared: () => 1,
  lm_head: () => 1,
  q: ({ modelSize, headSize }) => (modelSize * headSize) ** -0.5,
  k: ({ modelSize }) => modelSize ** -0.5,
  v: ({ modelSize }) => modelSize ** -0.5,
  o: ({ heads, headSize }) => (heads * headSize) ** -0.5,
  relative_attention_bias: ({ modelSize }) => modelSize ** -0.5,
  wi: ({ modelSize }) => modelSize ** -0.5,
  wi_0: ({ modelSize }) => modelSize ** -0.5,
  wi_1: ({ modelSize }) => modelSize ** -0.5,
  wo: ({ feedForwardSize }) => feedForwardSize ** -0.5,
};

/** Every weight of the model, by its name in a checkpoint. Each is drawn from a stream that `seed` and its name determine. */
export function initialWeights(
  config: ModelConfig,
  seed: number | string,
): Map<string, Float32Array> {
  const weights = new Map<string, Float32Array>();
  for (const [name, shape] of parameterShapes(config)) {
    const numbers = new Float32Array(shape.reduce((product, size) => product * size, 1));
    const deviation = STANDARD_DEVIATIONS[name.split(".").at(-2)!];
    weights.set(
      name,
      deviation ? drawNormal(numbers, deviation(config), seed, name) : numbers.fill(1),
    );
  }
  return weights;
}

/** Fills `numbers` with a normal distribution around 0 (Box and Muller 1958). */
function drawNormal(
  numbers: Float32Array,
  deviation: number,
  seed: number | string,
  name: string,
): Float32Array {
  const random = createRandom(seed, "initial weights", name);
  for (let i = 0; i < numbers.length; i += 2) {
    const radius = deviation * Math.sqrt(-2 * Math.log(1 - random.next()));
    const angle = 2 * Math.PI * random.next();
    numbers[i] = radius * Math.cos(angle);
    numbers[i + 1] = radius * Math.sin(angle); // of an odd number, the last is written past the end: ignored
  }
  return numbers;
}
