/**
 * The decoder with fusion (Izacard and Grave 2021): it attends over the tokens of all passages of a question at once.
 *
 * `rows` are the answers being written: one a question, or one a beam. The rows of a question stand together and share
 * its cross-attention keys and values, which are computed once.
 */

import {
  attend,
  attentionScores,
  feedForward,
  linear,
  maskBias,
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
  /** int32 [rows, length]: the start token, then what is written so far, or the last token of that if there is `past`. */
  readonly ids: T;
  /** `positionBuckets(config, "decoder", ...)` [length, past + length] */
  readonly buckets: T;
  /** Of each block, over the fused passages: [questions, heads, fused, headSize]. */
  readonly cross: readonly KeyValue<T>[];
  /** float32 [questions, fused] */
  readonly crossMask: T;
  /** Of each block, over the tokens before `ids`: [rows, heads, past, headSize]. */
  readonly past?: readonly KeyValue<T>[];
}

export interface DecoderOutput<T> {
  /** [rows, length, modelSize] */
  readonly states: T;
  /** Of each block, over all tokens up to now: [rows, heads, past + length, headSize]. */
  readonly present: readonly KeyValue<T>[];
  /** Cross-attention scores of the last block before softmax: [questions, heads, rows of a question * length, fused]. */
  readonly crossScores: T;
}

/** Keys and values of the passages for every block: fused [questions, fused, modelSize]. */
export function crossKeyValues<T>(
  context: LayerContext<T>,
  parameters: ModelParameters<T>,
  fused: T,
): KeyValue<T>[] {
  return parameters.decoder.blocks.map(({ crossAttention }) => ({
    key: projectToHeads(context, crossAttention.key, fused),
    value: projectToHeads(context, crossAttention.value, fused),
  }));
}

export function decode<T>(
  context: LayerContext<T>,
  parameters: ModelParameters<T>,
  input: DecoderInput<T>,
): DecoderOutput<T> {
  const { ops, config, dropout } = context;
  const { blocks, relativeBias: table, finalNorm } = parameters.decoder;
  const selfBias = relativeBias(ops, table, input.buckets);
  const crossBias = maskBias(ops, input.crossMask);
  const present: KeyValue<T>[] = [];
  let crossScores = crossBias;
  let x = dropout(ops.gather(parameters.embedding, input.ids));
  blocks.forEach((block, i) => {
    const own = selfAttention(context, block, x, selfBias, input.past?.[i]);
    present.push(own.present);
    x = ops.add(x, dropout(own.output));
    const cross = crossAttention(context, block, x, crossBias, input.cross[i]!);
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

/** The rows of a question are one long query, so that its keys and values need no copies. */
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

/** Scores over the vocabulary: [rows, length, modelSize] -> [rows, length, vocabularySize]. */
export function vocabularyLogits<T>(
  { ops, config }: LayerContext<T>,
  parameters: ModelParameters<T>,
  states: T,
): T {
  const scaled = config.tied ? ops.multiply(states, ops.scalar(config.modelSize ** -0.5)) : states;
  return linear(ops, parameters.outputEmbedding, scaled);
}

/**
 * The target attention that teaches retrieval (ReAtt, section 3.1): at the first position of the last decoder block,
 * softmax over all tokens of all passages of a question, mean over heads, sum over the tokens of each passage.
 *
 * crossScores [questions, heads, positions, passages * length] -> [questions, passages]
 */
export function targetAttention<T>(context: LayerContext<T>, crossScores: T, passages: number): T {
  const { ops } = context;
  const [questions] = ops.shape(crossScores);
  return ops.sum(
    ops.reshape(tokenAttention(context, crossScores), [questions!, passages, -1]),
    [2],
  );
}

/** The target attention before it is summed by passages: [questions, heads, positions, fused] -> [questions, fused]. */
export function tokenAttention<T>({ ops }: LayerContext<T>, crossScores: T): T {
  const first = ops.softmax(ops.slice(crossScores, 2, 0, 1)); // [questions, heads, 1, fused]
  return ops.mean(first, [1, 2]);
}
