/**
 * Random weights to train from scratch. Source: `T5PreTrainedModel._init_weights` of Hugging Face
 * transformers with `initializer_factor` 1.
 *
 * T5 does not divide attention scores by the square root of the head size. It divides the standard
 * deviation of the query projection by it instead.
 */

import { createRandom } from "../math/random.ts";
import type { ModelConfig } from "./config.ts";
import { parameterShapes } from "./parameter-names.ts";

/** `initializer_range` of `BertConfig`. */
const BERT_DEVIATION = 0.02;

/**
 * The standard deviation of a weight, by the last part of its name before `weight`. Norms are 1,
 * biases are 0.
 */
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
  copy_gate: () => 0, // as probable to copy as not
  token_weights: () => 0, // all tokens count the same
  pool: ({ modelSize }) => modelSize ** -0.5,
  projection: () => 0, // of phrase queries: all phrases have the same score
  position_embeddings: () => BERT_DEVIATION,
  query: () => BERT_DEVIATION,
  key: () => BERT_DEVIATION,
  value: () => BERT_DEVIATION,
  dense: () => BERT_DEVIATION,
};

/**
 * Every weight of the model by its name in a checkpoint. `seed` and the name determine the random
 * stream of a weight.
 */
export function initialWeights(
  config: ModelConfig,
  seed: number | string,
): Map<string, Float32Array> {
  const shapes = [...parameterShapes(config)];
  return new Map(shapes.map(([name, shape]) => [name, initialWeight(config, name, shape, seed)]));
}

/** One of the weights of `initialWeights`. */
export function initialWeight(
  config: ModelConfig,
  name: string,
  shape: readonly number[],
  seed: number | string,
): Float32Array {
  const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
  if (name.endsWith(".bias")) return values;
  const deviation = STANDARD_DEVIATIONS[name.split(".").at(-2)!];
  return deviation ? drawNormal(values, deviation(config), seed, name) : values.fill(1);
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
