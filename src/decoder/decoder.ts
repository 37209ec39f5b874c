/**
 * The decoder of T5 with fusion-in-decoder (Izacard and Grave 2021): it attends to the tokens of
 * all passages of a question at once.
 *
 * A row is an answer that is being generated: one for each question, or one for each beam. The rows
 * of a question are adjacent and share its cross-attention keys and values, which are computed
 * once.
 */

import {
  attend,
  attentionScores,
  feedForward,
  linear,
  projectToHeads,
} from "../model/layers/attention.ts";
import type { LayerContext } from "../model/layers/context.ts";
import { relativeBias } from "../model/layers/relative-position.ts";
import type { DecoderBlockParameters, ModelParameters } from "../model/parameters.ts";

/** Keys and values of one attention layer, each [batch, heads, length, headSize]. */
export interface KeyValue<T> {
  readonly key: T;
  readonly value: T;
}

export interface DecoderInput<T> {
  /**
   * int32 [rows, length]: the start token and the tokens generated so far, or only the last of them
   * if there is `past`
   */
  readonly ids: T;
  /** `positionBuckets(config, "decoder", ...)` [length, past + length] */
  readonly buckets: T;
  /** For each block, keys and values of the fused passages: [questions, heads, fused, headSize] */
  readonly cross: readonly KeyValue<T>[];
  /** float32 [questions, 1, 1, fused], added to the attention scores: `MASKED` for padding */
  readonly crossBias: T;
  /** For each block, keys and values of the tokens before `ids`: [rows, heads, past, headSize] */
  readonly past?: readonly KeyValue<T>[];
}

export interface DecoderOutput<T> {
  /** [rows, length, modelSize] */
  readonly states: T;
  /**
   * For each block, keys and values of all tokens so far: [rows, heads, past + length, headSize]
   */
  readonly present: readonly KeyValue<T>[];
  /**
   * Cross-attention scores of the last block before softmax:
   * [questions, heads, rows of a question * length, fused]
   */
  readonly crossScores: T;
}

/**
 * Cross-attention keys and values for each block, from states of the encoder:
 * [batch, length, modelSize] -> [batch, heads, length, headSize].
 */
export function crossKeyValues<T>(
  context: LayerContext<T>,
  parameters: ModelParameters<T>,
  states: T,
): KeyValue<T>[] {
  return parameters.decoder.blocks.map(({ crossAttention }) => ({
    key: projectToHeads(context, crossAttention.key, states),
    value: projectToHeads(context, crossAttention.value, states),
  }));
}

/** Embeds `ids` and runs all blocks of the decoder. */
export function decode<T>(
  context: LayerContext<T>,
  parameters: ModelParameters<T>,
  input: DecoderInput<T>,
): DecoderOutput<T> {
  const { ops, config, dropout } = context;
  const { blocks, relativeBias: table, finalNorm } = parameters.decoder;
  const selfBias = relativeBias(ops, table, input.buckets);
  const present: KeyValue<T>[] = [];
  let crossScores = input.crossBias;
  let x = dropout(ops.gather(parameters.embedding, input.ids));
  blocks.forEach((block, i) => {
    const own = selfAttention(context, block, x, selfBias, input.past?.[i]);
    present.push(own.present);
    x = ops.add(x, dropout(own.output));
    const cross = crossAttention(context, block, x, input.crossBias, input.cross[i]!);
    crossScores = cross.scores;
    x = ops.add(x, dropout(cross.output));
    const inner = ops.rmsNorm(x, block.feedForwardNorm, config.layerNormEpsilon);
    x = ops.add(x, dropout(feedForward(context, block.feedForward, inner)));
  });
  return {
    states: dropout(ops.rmsNorm(x, finalNorm, config.layerNormEpsilon)),
    present,
    crossScores,
  };
}

function selfAttention<T>(
  context: LayerContext<T>,
  block: DecoderBlockParameters<T>,
  x: T,
  bias: T,
  past?: KeyValue<T>,
) {
  const { ops, config } = context;
  const normed = ops.rmsNorm(x, block.selfAttentionNorm, config.layerNormEpsilon);
  const query = projectToHeads(context, block.selfAttention.query, normed);
  const newest = {
    key: projectToHeads(context, block.selfAttention.key, normed),
    value: projectToHeads(context, block.selfAttention.value, normed),
  };
  const present: KeyValue<T> = past
    ? {
        key: ops.concat([past.key, newest.key], 2),
        value: ops.concat([past.value, newest.value], 2),
      }
    : newest;
  const scores = ops.add(attentionScores(ops, query, present.key), bias);
  return { output: attend(context, block.selfAttention, scores, present.value), present };
}

/** Joins the rows of a question to one long query, so that its keys and values are not copied. */
function crossAttention<T>(
  context: LayerContext<T>,
  block: DecoderBlockParameters<T>,
  x: T,
  bias: T,
  { key, value }: KeyValue<T>,
) {
  const { ops, config } = context;
  const [questions] = ops.shape(key);
  const normed = ops.rmsNorm(x, block.crossAttentionNorm, config.layerNormEpsilon);
  const together = ops.reshape(normed, [questions!, -1, config.modelSize]);
  const query = projectToHeads(context, block.crossAttention.query, together);
  const scores = ops.add(attentionScores(ops, query, key), bias);
  return {
    output: ops.reshape(attend(context, block.crossAttention, scores, value), ops.shape(x)),
    scores,
  };
}

/** Logits over the vocabulary: [rows, length, modelSize] -> [rows, length, vocabularySize]. */
export function vocabularyLogits<T>(
  { ops, config }: LayerContext<T>,
  parameters: ModelParameters<T>,
  states: T,
): T {
  const scaled = config.tied ? ops.multiply(states, ops.scalar(config.modelSize ** -0.5)) : states;
  return linear(ops, parameters.outputEmbedding, scaled);
}
