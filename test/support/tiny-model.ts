/** Small models with random weights, for tests of the arithmetic. */

import { createRandom } from "../../src/math/random.ts";
import type { ModelConfig, Pooling, Similarity } from "../../src/model/config.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import type { Stack } from "../../src/model/stack.ts";
import { fromT5File, T5File, toT5File } from "../../src/model/t5-form.ts";
import { referenceNames } from "./reference-names.ts";

/** A T5, perhaps above a BERT encoder, in the numbers of that form. */
interface T5Sizes {
  readonly vocabularySize?: number;
  readonly modelSize?: number;
  readonly headSize?: number;
  readonly heads?: number;
  readonly feedForwardSize?: number;
  readonly encoderLayers?: number;
  readonly decoderLayers?: number;
  readonly feedForward?: T5File["feed_forward_proj"];
  readonly layerNormEpsilon?: number;
  readonly retrievalLayer?: number;
  readonly retrievalHead?: number;
  readonly retrievalHeads?: number;
  readonly pooling?: Pooling | undefined;
  readonly similarity?: Similarity | undefined;
  readonly tokenWeights?: boolean | undefined;
  readonly copying?: boolean;
  readonly backbone?: Backbone | undefined;
}

interface Backbone {
  readonly layers: number;
  readonly heads: number;
  readonly feedForwardSize: number;
  readonly positions: number;
  readonly layerNormEpsilon: number;
  readonly jointLayers: number;
}

export type TinyChanges = T5Sizes & Omit<Partial<ModelConfig>, keyof T5Sizes>;

/** The keys of that form. */
const KEYS = {
  vocabularySize: "vocab_size",
  modelSize: "d_model",
  headSize: "d_kv",
  heads: "num_heads",
  feedForwardSize: "d_ff",
  encoderLayers: "num_layers",
  decoderLayers: "num_decoder_layers",
  feedForward: "feed_forward_proj",
  layerNormEpsilon: "layer_norm_epsilon",
  retrievalLayer: "retrieval_layer",
  retrievalHead: "retrieval_head",
  retrievalHeads: "retrieval_heads",
  pooling: "retrieval_pooling",
  similarity: "retrieval_similarity",
  tokenWeights: "retrieval_token_weights",
  copying: "copy_mechanism",
} as const;

const DEFAULTS: TinyChanges = {
  vocabularySize: 40,
  modelSize: 16,
  headSize: 6,
  heads: 3,
  feedForwardSize: 24,
  encoderLayers: 2,
  decoderLayers: 2,
  feedForward: "gated-gelu",
  layerNormEpsilon: 1e-6,
  retrievalLayer: 1,
  retrievalHead: 2,
  tied: false,
  relativeBuckets: 8,
  relativeMaxDistance: 12,
};

/**
 * A model of 2 + 2 layers. Its heads together are wider than its states. `changes` override the
 * defaults.
 */
export const tinyConfig = (changes: TinyChanges = {}): ModelConfig =>
  translated({}, { ...DEFAULTS, ...changes });

/** A model with changes, T5 or above BERT. */
export function withChanges(config: ModelConfig, changes: TinyChanges): ModelConfig {
  const { t5, backbone } = divided(config);
  return translated(toT5File(t5)!, { ...(backbone && { backbone }), ...changes });
}

function translated(before: Partial<T5File>, { backbone, ...changes }: TinyChanges): ModelConfig {
  const file: Record<string, unknown> = { ...before };
  const others: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(changes))
    if (name in KEYS) file[KEYS[name as keyof typeof KEYS]] = value;
    else others[name] = value;
  const t5 = { ...fromT5File(T5File.parse(file)), ...others };
  return backbone ? aboveBert(t5, backbone) : t5;
}

/** A T5 above a BERT encoder, whose last layers are there twice: for retrieval and for reading. */
function aboveBert(t5: ModelConfig, backbone: Backbone): ModelConfig {
  const { layers: total, jointLayers: copied, positions, ...sizes } = backbone;
  const width = t5.modelSize;
  const bert = (layers: number): Stack => ({
    ...sizes,
    ...{ kind: "bert", layers, width, headSize: width / sizes.heads },
  });
  const first = { ...bert(total - copied), positions } as Stack;
  if (copied === 0) return { ...t5, shared: [first, ...t5.shared] };
  return {
    ...t5,
    shared: [first],
    retrieval: [bert(copied), ...t5.shared],
    joint: [bert(copied), ...t5.joint],
    retrievalAttention: { ...t5.retrievalAttention, stack: 1 } as typeof t5.retrievalAttention,
  };
}

/** The inverse of {@link aboveBert}. */
function divided(config: ModelConfig): { t5: ModelConfig; backbone?: Backbone } {
  const { shared, retrieval, joint, retrievalAttention } = config;
  const [first] = shared;
  if (first?.kind !== "bert") return { t5: config };
  const ofT5 = (stacks: readonly Stack[]): Stack[] => stacks.filter(({ kind }) => kind === "t5");
  const { heads, feedForwardSize, positions, layerNormEpsilon } = first;
  const copied = joint[0]!.kind === "bert" ? joint[0]!.layers : 0;
  return {
    t5: {
      ...config,
      ...{ shared: ofT5([...shared, ...retrieval]), retrieval: [], joint: ofT5(joint) },
      retrievalAttention: { ...retrievalAttention, stack: 0 } as typeof retrievalAttention,
    },
    backbone: {
      ...{ layers: first.layers + copied, heads, feedForwardSize, positions: positions! },
      ...{ layerNormEpsilon, jointLayers: copied },
    },
  };
}

/** A BERT encoder of 2 layers below the blocks. */
export const BACKBONE: Backbone = {
  ...{ layers: 2, heads: 4, feedForwardSize: 20, positions: 40, layerNormEpsilon: 1e-6 },
  jointLayers: 0,
};

const BERT_SIZES = { kind: "bert", heads: 4, feedForwardSize: 20, layerNormEpsilon: 1e-6 } as const;
const ALONE = { ...BERT_SIZES, width: 16, headSize: 4 } as const;

/**
 * A model without T5 in its encoder, which that form cannot describe: retrieval layers, projections
 * of its own, and joint layers of another width.
 */
export const TINY_STACKS: ModelConfig = {
  ...tinyConfig({ tied: true, copying: true, retrievalScale: 20 }),
  shared: [{ ...ALONE, layers: 1, positions: 40 }],
  retrieval: [{ ...ALONE, layers: 2 }],
  joint: [
    { ...BERT_SIZES, width: 24, headSize: 6, layers: 2, inputMap: true },
    { ...ALONE, layers: 1, inputMap: true },
  ],
  retrievalAttention: { from: "own", heads: 2, headSize: 6, similarity: "cosine" },
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
 * Draws all weights of a model from the stream `seed` and their reference names.
 *
 * The weights are uniform, with variance 1 / inputs in linear layers, so that activations neither
 * vanish nor explode. Attention is far from uniform and far from one-hot.
 */
export function randomWeights(
  config: ModelConfig,
  seed: number | string,
): Map<string, Float32Array> {
  const streams = referenceNames(config);
  const draw = (name: string, [rows, columns]: readonly number[]): Float32Array => {
    const random = createRandom(seed, streams.get(name) ?? name);
    const uniform = (width: number): number => width * (2 * random.next() - 1);
    if (name.endsWith(".bias")) return Float32Array.from({ length: rows! }, () => uniform(0.5));
    if (columns === undefined) return Float32Array.from({ length: rows! }, () => 1 + uniform(0.5));
    const isTable = name === "embedding.weight" || /relative_attention_bias|embeddings/.test(name);
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
