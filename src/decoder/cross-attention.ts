/**
 * Cross-attention to the states of the encoder, without their keys and values. For a query q of
 * head h, and the state x_j of token j:
 *
 *     score_j = q . K_h x_j = (K_h^T q) . x_j
 *     output = sum over j of a_j V_h x_j = V_h (sum over j of a_j x_j)
 *
 * K_h and V_h are the rows of head h of the key and value projections. The right sides give the
 * same as the left ones up to rounding, and need no key and value of each token and layer. An
 * answer has few tokens and its passages have many, so that saves most of the products, and the
 * memory of the keys and values: of a T5-large with ten passages, 191 GFLOP and 0.4 GB for 3 GFLOP
 * a written token (docs/experiments/speed.md).
 *
 * It needs an attention layer without biases and without relative positions, which T5's
 * cross-attention is.
 */

import { linear } from "../model/layers/attention.ts";
import type { LayerContext } from "../model/layers/context.ts";
import type { AttentionParameters } from "../model/parameters.ts";

/**
 * The scores before softmax.
 *
 * @param x the input of the layer, [questions, rows, modelSize]
 * @param states [questions, fused, modelSize]
 * @returns [questions, heads, rows, fused]
 */
export function stateScores<T>(
  context: LayerContext<T>,
  layer: AttentionParameters<T>,
  x: T,
  states: T,
): T {
  const { ops, config } = context;
  const { decoder, modelSize } = config;
  const { heads, headSize } = decoder;
  const [questions, rows] = ops.shape(x);
  const [, fused] = ops.shape(states);
  const byHeads = ops.reshape(linear(ops, layer.query, x), [-1, heads, headSize]);
  const queries = ops.matmul(ops.transpose(byHeads, [1, 0, 2]), headRows(context, layer.key));
  const ofQuestions = ops.transpose(
    ops.reshape(queries, [heads, questions!, rows!, modelSize]),
    [1, 0, 2, 3],
  );
  const together = ops.reshape(ofQuestions, [questions!, -1, modelSize]);
  const scores = ops.matmul(together, ops.transpose(states, [0, 2, 1]));
  return ops.reshape(scores, [questions!, heads, rows!, fused!]);
}

/**
 * `softmax(scores)` times the values, with the heads joined and projected.
 *
 * @param scores [questions, heads, rows, fused]
 * @param states [questions, fused, modelSize]
 * @returns [questions, rows, modelSize]
 */
export function attendToStates<T>(
  context: LayerContext<T>,
  layer: AttentionParameters<T>,
  scores: T,
  states: T,
): T {
  const { ops, config } = context;
  const { decoder, modelSize } = config;
  const { heads, headSize } = decoder;
  const [questions, , rows, fused] = ops.shape(scores);
  const shares = ops.reshape(ops.softmax(scores), [questions!, -1, fused!]);
  const means = ops.reshape(ops.matmul(shares, states), [questions!, heads, rows!, modelSize]);
  const byHeads = ops.reshape(ops.transpose(means, [1, 0, 2, 3]), [heads, -1, modelSize]);
  const values = ops.matmul(byHeads, ops.transpose(headRows(context, layer.value), [0, 2, 1]));
  const joined = ops.reshape(ops.transpose(values, [1, 0, 2]), [
    questions!,
    rows!,
    heads * headSize,
  ]);
  return linear(ops, layer.output, joined);
}

/** The rows of each head: [heads * headSize, modelSize] -> [heads, headSize, modelSize]. */
const headRows = <T>({ ops, config: { decoder, modelSize } }: LayerContext<T>, weight: T): T =>
  ops.reshape(weight, [decoder.heads, decoder.headSize, modelSize]);
