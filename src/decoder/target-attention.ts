/**
 * Target attention: the cross-attention of the decoder that teaches retrieval (ReAtt, section 3.2).
 *
 * It is taken at the first decoder position of the last block: softmax over all tokens of all K
 * passages of a question (each with its copy of the question), mean over heads, sum over the tokens
 * of each passage. Training passes no gradient through it.
 */

import type { LayerContext } from "../model/layers/context.ts";

/**
 * The target attention of each passage, where all passages have the same padded length:
 * crossScores [questions, heads, positions, passages * length] -> [questions, passages].
 */
export function targetAttention<T>(context: LayerContext<T>, crossScores: T, passages: number): T {
  const { ops } = context;
  const [questions] = ops.shape(crossScores);
  const tokens = ops.reshape(tokenAttention(context, crossScores), [questions!, passages, -1]);
  return ops.sum(tokens, [2]);
}

/** The same before the sum: [questions, heads, positions, fused] -> [questions, fused]. */
export function tokenAttention<T>({ ops }: LayerContext<T>, crossScores: T): T {
  const first = ops.softmax(ops.slice(crossScores, 2, 0, 1)); // [questions, heads, 1, fused]
  return ops.mean(first, [1, 2]);
}
