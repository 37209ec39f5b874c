/**
 * The loss of the objective `retrieval`, which trains the lower layers alone. Letters of shapes:
 * graph-inputs.ts.
 *
 * A question with the positives D+ and the given scores t(d) of its candidates S has the loss
 *
 *     L = -log sum over d in D+ of P_ret(d | q)  +  KL(P_given || P_S)
 *     P_given(d) = softmax over d in S of t(d) / temperature
 *     P_S(d) = softmax over d in S of e^s r(q, d)
 *
 * The first term is that of supervised.ts, over the passages of the batch. The second term is over
 * the scored candidates of the question. A question without positives or without scores has one of
 * the terms. A question without both has no loss, but its candidates are in-batch negatives.
 *
 * Source of the second term: Santhanam et al. 2022 (ColBERTv2), section 3.2. The sum of both terms
 * is an addition of this project.
 */

import { hiddenBias } from "../../model/layers/attention.ts";
import type { Ops } from "../../tensor/ops.ts";

/** `t / temperature` as a distribution over the scored candidates; 0 for the others. */
export function givenDistribution(
  scores: readonly (number | undefined)[],
  temperature: number,
): number[] {
  const highest = Math.max(...scores.filter((score) => score !== undefined));
  const weights = scores.map((score) =>
    score === undefined ? 0 : Math.exp((score - highest) / temperature),
  );
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => (weight === 0 ? 0 : weight / total));
}

/**
 * KL(P_given || P_S) of each question, 0 without scores: -> [Q].
 *
 * logits: [Q, K], e^s r(q, d). softTargets, scoredMask: float32 [Q, K].
 */
export function softTargetLoss<T>(
  ops: Ops<T>,
  { logits, softTargets, scoredMask }: { logits: T; softTargets: T; scoredMask: T },
): T {
  const others = hiddenBias(ops, scoredMask);
  const logProbabilities = ops.multiply(ops.logSoftmax(ops.add(logits, others)), scoredMask);
  // A share can underflow to 0. 0 log 0 is 0.
  const logTargets = ops.log(ops.add(softTargets, ops.scalar(1e-30)));
  return ops.sum(ops.multiply(softTargets, ops.subtract(logTargets, logProbabilities)), [1]);
}
