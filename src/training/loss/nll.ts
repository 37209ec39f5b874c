/**
 * The negative log likelihood of the answers (ReAtt, section 2.1, L_QA). Letters of shapes:
 * graph-inputs.ts.
 *
 *     nll = -1/N sum over answers a and tokens t of log P(a_t | a_<t, q, candidates of q)
 *
 * N is the number of answer tokens of the batch, `</s>` included.
 */

import type { Ops } from "../../tensor/ops.ts";

/**
 * The log probability of each label, 0 for padding: -> [rows, T].
 *
 * logits: [rows, T, vocabulary]. labels: int32 [rows, T]. labelMask: float32 [rows, T].
 */
export function labelLogProbabilities<T>(
  ops: Ops<T>,
  input: { logits: T; labels: T; labelMask: T },
): T {
  const vocabulary = ops.shape(input.logits).at(-1) as number;
  const chosen = ops.multiply(ops.logSoftmax(input.logits), ops.oneHot(input.labels, vocabulary));
  return ops.multiply(ops.sum(chosen, [2]), input.labelMask);
}

/** Minus the sum of log probabilities of any shape, divided by N: -> []. */
export function meanNegativeLog<T>(ops: Ops<T>, logProbabilities: T, batchLabels: T): T {
  const axes = ops.shape(logProbabilities).map((_, axis) => axis);
  return ops.divide(ops.multiply(ops.sum(logProbabilities, axes), ops.scalar(-1)), batchLabels);
}
