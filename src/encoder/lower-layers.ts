/**
 * The lower encoder layers, which encode a question or a passage alone (ReAtt, section 2.2: the
 * bi-encoder or "retriever").
 *
 * The first B = `retrievalLayer` blocks turn token ids into states. The first norm and the
 * retrieval head of block B (0-based; layer B + 1 of the paper) turn states into the vectors of the
 * retrieval attention Q K^T: query vectors Q of a question, keys K of a passage. A model with
 * pooling has one of them for each text, from all heads (pooling.ts).
 *
 * A model can have a query encoder: a copy of these weights that makes only query vectors. The
 * states of the questions that such a model reads still come from the encoder.
 */

import { type ModelConfig, retrievalRows, vectorSize } from "../model/config.ts";
import { linear, maskBias, projectToHeads } from "../model/layers/attention.ts";
import { bertBlocks, bertStates } from "../model/layers/bert.ts";
import type { LayerContext } from "../model/layers/context.ts";
import { encoderBlock } from "../model/layers/encoder-block.ts";
import { relativeBias } from "../model/layers/relative-position.ts";
import type { ModelParameters } from "../model/parameters.ts";
import type { Ops } from "../tensor/ops.ts";
import { pool, unitVectors } from "./pooling.ts";
import { weightsOfTokens } from "./token-weights.ts";

/** The weights of the lower layers. */
export type LowerParameters<T> = Pick<ModelParameters<T>, "embedding" | "encoder">;

/** The weights that make query vectors. */
export const querySide = <T>({
  embedding,
  queryEncoder,
}: ModelParameters<T>): LowerParameters<T> => ({
  embedding,
  encoder: queryEncoder,
});

/**
 * The input of the encoder. Padding (`mask` 0) is never attended to and can stand on either side.
 */
export interface EncoderInput<T> {
  /** int32 [batch, length] */
  readonly ids: T;
  /** float32 [batch, length], 1 for a token and 0 for padding */
  readonly mask: T;
  /** `positionBuckets(config, "encoder", length)` */
  readonly buckets: T;
}

/**
 * The states that the upper layers read: -> [batch, length, modelSize]. Embeds token ids, then runs
 * the backbone, if the model has one, and the blocks below B. With joint layers, it stops below
 * these.
 */
export function readingStates<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  input: EncoderInput<T>,
): T {
  const { ops, config, dropout } = context;
  const words = ops.gather(parameters.embedding, input.ids);
  const { backbone } = parameters.encoder;
  const states = backbone ? bertStates(context, backbone, words, input.mask) : dropout(words);
  return hasJointLayers(config) ? states : blocksBelow(context, parameters, states, input);
}

/**
 * The states that retrieval makes its vectors of: -> [batch, length, modelSize]. They are the
 * states for reading, unless the model has joint layers. Then the layers that these are copies of
 * follow, and the blocks below B.
 *
 * @param reading `readingStates` of the input
 */
export function retrievalStates<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  reading: T,
  input: Pick<EncoderInput<T>, "mask" | "buckets">,
): T {
  if (!hasJointLayers(context.config)) return reading;
  const { layers, jointLayers } = context.config.backbone!;
  const blocks = parameters.encoder.backbone!.blocks.slice(layers - jointLayers);
  const states = bertBlocks(context, blocks, reading, input.mask);
  return blocksBelow(context, parameters, states, input);
}

/** States of texts for reading and for retrieval. */
export function lowerStates<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  input: EncoderInput<T>,
): { reading: T; retrieval: T } {
  const reading = readingStates(context, parameters, input);
  return { reading, retrieval: retrievalStates(context, parameters, reading, input) };
}

const hasJointLayers = ({ backbone }: ModelConfig): boolean =>
  backbone !== undefined && backbone.jointLayers > 0;

/** Runs the blocks below B. */
function blocksBelow<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  states: T,
  { mask, buckets }: Pick<EncoderInput<T>, "mask" | "buckets">,
): T {
  const { ops, config } = context;
  const { blocks, relativeBias: table } = parameters.encoder;
  const bias = ops.add(relativeBias(ops, table, buckets), maskBias(ops, mask));
  return blocks
    .slice(0, config.retrievalLayer)
    .reduce((x, block) => encoderBlock(context, block, x, bias), states);
}

/** Encoded texts: states [batch, length, modelSize], ids and mask [batch, length]. */
export interface EncodedTexts<T> extends Pick<EncoderInput<T>, "ids" | "mask"> {
  readonly states: T;
}

/**
 * What retrieval compares: query vectors (of a question) or keys (of a passage),
 * [batch, vectors, vectorSize]. The vectors are those of the tokens in the retrieval head, or with
 * pooling one for each text. All that depends on pooling follows from here. Query vectors include
 * the weights of their tokens.
 */
export function retrievalVectors<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  texts: EncodedTexts<T>,
  projection: "query" | "key",
): T {
  const { states, mask } = texts;
  const { ops, config } = context;
  const { attentionNorm, attention } = parameters.encoder.blocks[config.retrievalLayer]!;
  const normed = ops.rmsNorm(states, attentionNorm, config.layerNormEpsilon);
  const rows = config.pooling === undefined ? normed : pool(ops, config.pooling, normed, mask);
  const heads = ops.slice(attention[projection], 0, ...retrievalRows(config));
  const vectors = compared(context, linear(ops, heads, rows), vectorSize(config));
  return projection === "query" ? weighted(ops, parameters, vectors, texts) : vectors;
}

/**
 * Vectors of the tokens of questions times their weights, if the model has any:
 * [batch, length, size] or, of several heads, [batch, heads, length, size] -> the same.
 */
function weighted<T>(
  ops: Ops<T>,
  { encoder: { tokenWeights } }: LowerParameters<T>,
  vectors: T,
  { ids, mask }: EncodedTexts<T>,
): T {
  if (tokenWeights === undefined) return vectors;
  const weights = weightsOfTokens(ops, tokenWeights, ids, mask);
  const [batch, length] = ops.shape(ids);
  const heads = ops.shape(vectors).length === 4 ? [1] : [];
  return ops.multiply(vectors, ops.reshape(weights, [batch!, ...heads, length!, 1]));
}

/** Vectors whose inner product is the similarity of the model: of length 1 for the cosine. */
const compared = <T>({ ops, config }: LayerContext<T>, vectors: T, size: number): T =>
  config.similarity === "cosine" ? unitVectors(ops, vectors, size) : vectors;

/** Vectors of the tokens in all heads of block B, apart: -> [batch, heads, length, headSize]. */
export function headVectors<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  texts: EncodedTexts<T>,
  projection: "query" | "key",
): T {
  const { ops, config } = context;
  const { attentionNorm, attention } = parameters.encoder.blocks[config.retrievalLayer]!;
  const normed = ops.rmsNorm(texts.states, attentionNorm, config.layerNormEpsilon);
  const ofHeads = projectToHeads(context, attention[projection], normed);
  const vectors = compared(context, ofHeads, config.headSize);
  return projection === "query" ? weighted(ops, parameters, vectors, texts) : vectors;
}
