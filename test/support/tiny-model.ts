/** Small models with random weights, for tests of the arithmetic. */

import { createRandom } from "../../src/math/random.ts";
import type { Backbone, ModelConfig } from "../../src/model/config.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";

/**
 * A model of 2 + 2 layers. Its heads together are wider than its states. `changes` override the
 * defaults.
 */
export function tinyConfig(changes: Partial<ModelConfig> = {}): ModelConfig {
  return {
    vocabularySize: 40,
    modelSize: 16,
    headSize: 6,
    heads: 3,
    feedForwardSize: 24,
    encoderLayers: 2,
    decoderLayers: 2,
    feedForward: "gated-gelu",
    tied: false,
    relativeBuckets: 8,
    relativeMaxDistance: 12,
    layerNormEpsilon: 1e-6,
    dropoutRate: 0.1,
    padId: 0,
    eosId: 1,
    decoderStartId: 0,
    retrievalLayer: 1,
    retrievalHead: 2,
    retrievalHeads: 1,
    distillationTau: 0.001,
    retrievalScale: 1,
    queryEncoder: false,
    noRepeatSize: 0,
    copying: false,
    ...changes,
  };
}

/** A BERT encoder of 2 layers below the blocks. */
const BACKBONE: Backbone = {
  ...{ layers: 2, heads: 4, feedForwardSize: 20, positions: 40, layerNormEpsilon: 1e-6 },
  jointLayers: 0,
};

/**
 * T5 v1.1 (gated layers, untied embeddings), v1.0, GELU without a gate, a copying decoder, and a
 * backbone with no and with one block below the retrieval layer.
 */
export const TINY_MODELS: Readonly<Record<string, ModelConfig>> = {
  "v1.1": tinyConfig(),
  "v1.0 tied": tinyConfig({ feedForward: "relu", tied: true, encoderLayers: 3, retrievalLayer: 2 }),
  "without a gate": tinyConfig({ feedForward: "gelu_new", tied: true }),
  copying: tinyConfig({ copying: true }),
  backbone: tinyConfig({ backbone: BACKBONE, tied: true, retrievalLayer: 0 }),
  "backbone and a block": tinyConfig({ backbone: { ...BACKBONE, layers: 1 }, copying: true }),
  "joint layers": tinyConfig({
    ...{ tied: true, retrievalLayer: 0, copying: true },
    backbone: { ...BACKBONE, layers: 3, jointLayers: 2 },
  }),
};

/**
 * Draws all weights of a model from the stream `seed`.
 *
 * The weights are uniform, with variance 1 / inputs in linear layers, so that activations neither
 * vanish nor explode. Attention is far from uniform and far from one-hot.
 */
export function randomWeights(
  config: ModelConfig,
  seed: number | string,
): Map<string, Float32Array> {
  const draw = (name: string, [rows, columns]: readonly number[]): Float32Array => {
    const random = createRandom(seed, name);
    const uniform = (width: number): number => width * (2 * random.next() - 1);
    if (name.endsWith(".bias")) return Float32Array.from({ length: rows! }, () => uniform(0.5));
    if (columns === undefined) return Float32Array.from({ length: rows! }, () => 1 + uniform(0.5));
    const isTable = name === "shared.weight" || /relative_attention_bias|embeddings/.test(name);
    const width = isTable ? Math.sqrt(3) : Math.sqrt(3 / columns);
    return Float32Array.from({ length: rows! * columns }, () => uniform(width));
  };
  return new Map([...parameterShapes(config)].map(([name, shape]) => [name, draw(name, shape)]));
}

/** Random token ids other than padding and `</s>`. */
export function randomIds(
  config: ModelConfig,
  length: number,
  ...seed: readonly (number | string)[]
): number[] {
  const random = createRandom("token ids", ...seed);
  return Array.from({ length }, () => 2 + random.integer(config.vocabularySize - 2));
}
