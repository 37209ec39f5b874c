/**
 * The weights of a model: their places in the parameter tree, names in the checkpoint and shapes.
 *
 * Source: `T5ForConditionalGeneration` of Hugging Face transformers; the checkpoints google/t5-*
 * and neulab/reatt-*. The query encoder, phrase queries and the backbone are extensions of this
 * package, and so are token weights. The weights of the backbone have the names of `BertModel` of
 * transformers.
 */

import { type Backbone, type ModelConfig, vectorSize } from "./config.ts";
import type {
  AffineParameters,
  AttentionParameters,
  BackboneParameters,
  BertBlockParameters,
  DecoderBlockParameters,
  EncoderBlockParameters,
  EncoderParameters,
  FeedForwardParameters,
  ModelParameters,
  PhraseQueryParameters,
} from "./parameters.ts";

/** Prefix of the names of a query encoder's weights. */
const QUERY_ENCODER = "query_encoder";
/** Prefix of the names of the weights of phrase queries. */
const PHRASE_QUERY = "phrase_query";

/** Prefix of the names of the weights of a backbone. */
const BACKBONE = "backbone";

/** The name of the log weights of tokens of questions. */
export const TOKEN_WEIGHTS = "retrieval.token_weights.weight";

/** Makes a leaf of the parameter tree from the name and the shape of a weight. */
export type Leaf<T> = (name: string, shape: readonly number[]) => T;

/**
 * The parameter tree of a model. `leaf` is called once for each name in the checkpoint; tied
 * embeddings are one leaf in two places.
 *
 * `buildParameters(config, (name) => name)` is the table of names.
 */
export function buildParameters<T>(config: ModelConfig, leaf: Leaf<T>): ModelParameters<T> {
  const { modelSize, heads, relativeBuckets, encoderLayers, decoderLayers } = config;
  const embeddingShape = [config.vocabularySize, modelSize];
  const embedding = leaf("shared.weight", embeddingShape);
  const stack = <Block>(name: string, layers: number, block: (name: string) => Block) => ({
    blocks: Array.from({ length: layers }, (_, n) => block(`${name}.block.${n}`)),
    relativeBias: leaf(`${name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight`, [
      relativeBuckets,
      heads,
    ]),
    finalNorm: leaf(`${name}.final_layer_norm.weight`, [modelSize]),
  });
  const encoder: EncoderParameters<T> = {
    ...stack("encoder", encoderLayers, (name) => encoderBlock(config, leaf, name)),
    ...(config.tokenWeights && {
      tokenWeights: leaf(TOKEN_WEIGHTS, [config.vocabularySize]),
    }),
    ...(config.backbone && {
      backbone: backbone(config, config.backbone, leaf),
      jointBlocks: bertBlocks(config, leaf, `${BACKBONE}.joint`, config.backbone.jointLayers),
    }),
  };
  return {
    embedding,
    encoder,
    decoder: {
      ...stack("decoder", decoderLayers, (name) => decoderBlock(config, leaf, name)),
      ...(config.copying && { copyGate: leaf("decoder.copy_gate.weight", [1, modelSize]) }),
    },
    outputEmbedding: config.tied ? embedding : leaf("lm_head.weight", embeddingShape),
    queryEncoder: config.queryEncoder ? queryEncoder(config, leaf, encoder) : encoder,
    ...(config.phraseQueries && {
      phraseQueries: {
        start: phraseQuery(config, leaf, `${PHRASE_QUERY}.start`),
        end: phraseQuery(config, leaf, `${PHRASE_QUERY}.end`),
      },
    }),
  };
}

/** The shape of every weight of a model, by its name in the checkpoint. */
export function parameterShapes(config: ModelConfig): Map<string, readonly number[]> {
  const shapes = new Map<string, readonly number[]>();
  buildParameters(config, (name, shape) => shapes.set(name, shape));
  return shapes;
}

/** The names in a part of the table of names, in the order of the tree. */
export const namesIn = (tree: object): string[] =>
  Object.entries(tree).flatMap(([key, value]: [string, string | object | undefined]) => {
    if (key === "kind" || value === undefined) return [];
    return typeof value === "object" ? namesIn(value) : [value];
  });

/** Whether a weight belongs to a query encoder. */
export const isOfQueryEncoder = (name: string): boolean => name.startsWith(`${QUERY_ENCODER}.`);

/** Whether a weight belongs to phrase queries. */
export const isOfPhraseQueries = (name: string): boolean => name.startsWith(`${PHRASE_QUERY}.`);

/** The weight of the encoder that corresponds to a weight of the query encoder. */
export const encoderName = (name: string): string => name.replace(QUERY_ENCODER, "encoder");

/** The query encoder. It shares the weights that it does not need a copy of with the encoder. */
function queryEncoder<T>(
  config: ModelConfig,
  leaf: Leaf<T>,
  encoder: EncoderParameters<T>,
): EncoderParameters<T> {
  const { retrievalLayer, relativeBuckets, modelSize, heads, headSize } = config;
  const block = (n: number): string => `${QUERY_ENCODER}.block.${n}`;
  const lower = Array.from({ length: retrievalLayer }, (_, n) =>
    encoderBlock(config, leaf, block(n)),
  );
  const bias = `${block(0)}.layer.0.SelfAttention.relative_attention_bias.weight`;
  const retrieval = `${block(retrievalLayer)}.layer.0`;
  const shared = encoder.blocks[retrievalLayer]!;
  const query = leaf(`${retrieval}.SelfAttention.q.weight`, [heads * headSize, modelSize]);
  const retrievalBlock: EncoderBlockParameters<T> = {
    ...shared,
    attentionNorm: leaf(`${retrieval}.layer_norm.weight`, [modelSize]),
    attention: { ...shared.attention, query },
  };
  return {
    ...encoder,
    blocks: [...lower, retrievalBlock],
    relativeBias: leaf(bias, [relativeBuckets, heads]),
  };
}

function phraseQuery<T>(
  config: ModelConfig,
  leaf: Leaf<T>,
  name: string,
): PhraseQueryParameters<T> {
  const { heads, modelSize } = config;
  return {
    pool: leaf(`${name}.pool.weight`, [heads, modelSize]),
    projection: leaf(`${name}.projection.weight`, [vectorSize(config), heads * modelSize]),
  };
}

function backbone<T>(
  config: ModelConfig,
  { layers, positions }: Backbone,
  leaf: Leaf<T>,
): BackboneParameters<T> {
  const { modelSize } = config;
  const embeddings = `${BACKBONE}.embeddings`;
  return {
    positions: leaf(`${embeddings}.position_embeddings.weight`, [positions, modelSize]),
    embeddingNorm: affine(leaf, `${embeddings}.LayerNorm`, [modelSize]),
    blocks: bertBlocks(config, leaf, `${BACKBONE}.encoder`, layers),
  };
}

const bertBlocks = <T>(
  { modelSize, backbone }: ModelConfig,
  leaf: Leaf<T>,
  name: string,
  layers: number,
): BertBlockParameters<T>[] =>
  Array.from({ length: layers }, (_, n) =>
    bertBlock(leaf, `${name}.layer.${n}`, modelSize, backbone!.feedForwardSize),
  );

function bertBlock<T>(
  leaf: Leaf<T>,
  block: string,
  size: number,
  inner: number,
): BertBlockParameters<T> {
  const square = (name: string) => affine(leaf, `${block}.attention.${name}`, [size, size]);
  return {
    attention: {
      query: square("self.query"),
      key: square("self.key"),
      value: square("self.value"),
      output: square("output.dense"),
    },
    attentionNorm: affine(leaf, `${block}.attention.output.LayerNorm`, [size]),
    inner: affine(leaf, `${block}.intermediate.dense`, [inner, size]),
    outer: affine(leaf, `${block}.output.dense`, [size, inner]),
    outerNorm: affine(leaf, `${block}.output.LayerNorm`, [size]),
  };
}

/** A weight of `shape` and a bias of the size of its first axis. */
const affine = <T>(
  leaf: Leaf<T>,
  layer: string,
  shape: readonly [number, ...number[]],
): AffineParameters<T> => ({
  weight: leaf(`${layer}.weight`, shape),
  bias: leaf(`${layer}.bias`, [shape[0]]),
});

function encoderBlock<T>(
  config: ModelConfig,
  leaf: Leaf<T>,
  block: string,
): EncoderBlockParameters<T> {
  return {
    attentionNorm: leaf(`${block}.layer.0.layer_norm.weight`, [config.modelSize]),
    attention: attention(config, leaf, `${block}.layer.0.SelfAttention`),
    feedForwardNorm: leaf(`${block}.layer.1.layer_norm.weight`, [config.modelSize]),
    feedForward: feedForward(config, leaf, `${block}.layer.1.DenseReluDense`),
  };
}

function decoderBlock<T>(
  config: ModelConfig,
  leaf: Leaf<T>,
  block: string,
): DecoderBlockParameters<T> {
  return {
    selfAttentionNorm: leaf(`${block}.layer.0.layer_norm.weight`, [config.modelSize]),
    selfAttention: attention(config, leaf, `${block}.layer.0.SelfAttention`),
    crossAttentionNorm: leaf(`${block}.layer.1.layer_norm.weight`, [config.modelSize]),
    crossAttention: attention(config, leaf, `${block}.layer.1.EncDecAttention`),
    feedForwardNorm: leaf(`${block}.layer.2.layer_norm.weight`, [config.modelSize]),
    feedForward: feedForward(config, leaf, `${block}.layer.2.DenseReluDense`),
  };
}

function attention<T>(config: ModelConfig, leaf: Leaf<T>, layer: string): AttentionParameters<T> {
  const { modelSize } = config;
  const attentionSize = config.heads * config.headSize;
  return {
    query: leaf(`${layer}.q.weight`, [attentionSize, modelSize]),
    key: leaf(`${layer}.k.weight`, [attentionSize, modelSize]),
    value: leaf(`${layer}.v.weight`, [attentionSize, modelSize]),
    output: leaf(`${layer}.o.weight`, [modelSize, attentionSize]),
  };
}

function feedForward<T>(
  config: ModelConfig,
  leaf: Leaf<T>,
  layer: string,
): FeedForwardParameters<T> {
  const widen = [config.feedForwardSize, config.modelSize];
  const narrow = [config.modelSize, config.feedForwardSize];
  if (config.feedForward !== "gated-gelu") {
    return {
      kind: config.feedForward,
      inner: leaf(`${layer}.wi.weight`, widen),
      outer: leaf(`${layer}.wo.weight`, narrow),
    };
  }
  return {
    kind: "gated-gelu",
    gate: leaf(`${layer}.wi_0.weight`, widen),
    inner: leaf(`${layer}.wi_1.weight`, widen),
    outer: leaf(`${layer}.wo.weight`, narrow),
  };
}
