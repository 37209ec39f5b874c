/**
 * The decoder of T5 with fusion-in-decoder (Izacard and Grave 2021): it attends to the tokens of
 * all passages of a question at once.
 *
 * A row is an answer that is being generated: one for each question, or one for each beam. The rows
 * of a question are adjacent and share its passages.
 */

import { attentionScores, linear, meanValues, projectToHeads } from "../model/layers/attention.ts";
import type { LayerContext } from "../model/layers/context.ts";
import { relativeBias } from "../model/layers/relative-position.ts";
import { feedForward } from "../model/layers/t5.ts";
import type { DecoderLayer, ModelParameters } from "../model/parameters.ts";
import { attendToStates, stateScores } from "./cross-attention.ts";

/** Keys and values of a self-attention layer, each [batch, heads, length, headSize]. */
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
  /** The encoder's states of the tokens of all passages: [questions, fused, modelSize] */
  readonly passages: T;
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

/** Embeds `ids` and runs all blocks of the decoder. */
export function decode<T>(
  context: LayerContext<T>,
  parameters: ModelParameters<T>,
  input: DecoderInput<T>,
): DecoderOutput<T> {
  const { ops, config, dropout } = context;
  const { layers, relativeBias: table, finalNorm } = parameters.decoder;
  const selfBias = relativeBias(ops, table, input.buckets);
  const present: KeyValue<T>[] = [];
  let crossScores = input.crossBias;
  let x = dropout(ops.gather(parameters.embedding, input.ids));
  layers.forEach((layer, i) => {
    const own = selfAttention(context, layer, x, selfBias, input.past?.[i]);
    present.push(own.present);
    x = ops.add(x, dropout(own.output));
    const cross = crossAttention(context, layer, x, input);
    crossScores = cross.scores;
    x = ops.add(x, dropout(cross.output));
    const inner = ops.rmsNorm(x, layer.feedForwardNorm, config.decoder.layerNormEpsilon);
    x = ops.add(x, dropout(feedForward(context, layer.feedForward, inner)));
  });
  return {
    states: dropout(ops.rmsNorm(x, finalNorm, config.decoder.layerNormEpsilon)),
    present,
    crossScores,
  };
}

function selfAttention<T>(
  context: LayerContext<T>,
  { selfAttentionNorm, selfAttention: layer }: DecoderLayer<T>,
  x: T,
  bias: T,
  past?: KeyValue<T>,
) {
  const {
    ops,
    config: { decoder },
  } = context;
  const normed = ops.rmsNorm(x, selfAttentionNorm, decoder.layerNormEpsilon);
  const heads = (weight: T): T => projectToHeads(ops, { weight }, normed, decoder);
  const query = heads(layer.query);
  const newest = { key: heads(layer.key), value: heads(layer.value) };
  const present: KeyValue<T> = past
    ? {
        key: ops.concat([past.key, newest.key], 2),
        value: ops.concat([past.value, newest.value], 2),
      }
    : newest;
  const scores = ops.add(attentionScores(ops, query, present.key), bias);
  const means = meanValues(ops, scores, present.value, decoder);
  return { output: linear(ops, layer.output, means), present };
}

/** Joins the rows of a question to one long query, which attends to its passages. */
function crossAttention<T>(
  context: LayerContext<T>,
  { crossAttentionNorm, crossAttention: layer }: DecoderLayer<T>,
  x: T,
  { passages, crossBias }: DecoderInput<T>,
) {
  const { ops, config } = context;
  const [questions] = ops.shape(passages);
  const normed = ops.rmsNorm(x, crossAttentionNorm, config.decoder.layerNormEpsilon);
  const together = ops.reshape(normed, [questions!, -1, config.modelSize]);
  const scores = ops.add(stateScores(context, layer, together, passages), crossBias);
  return {
    output: ops.reshape(attendToStates(context, layer, scores, passages), ops.shape(x)),
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
