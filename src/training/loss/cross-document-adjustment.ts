/**
 * The cross-document adjustment loss (ReAtt, Eq. 2). Letters of shapes: graph-inputs.ts.
 *
 *     L_cross-doc = KL(P_tgt || P_ret)
 *     P_ret(d | q) = exp(e^s r(q, d)) / Z(q)
 *     Z(q) = sum over d' of exp(e^s r(q, d'))
 *
 * `d'` runs over the question's own candidates and, with in-batch negatives, over the candidates of
 * all other questions of the batch (section 3.1). Z is called the in-batch normaliser here.
 * P_tgt, the target attention, is 0 for the candidates of other questions (section 3.2). These
 * therefore count in Z only. No gradient flows to P_tgt.
 *
 * The learned scale e^s (`logScale` is s) is an addition of this project. The paper has no scale.
 */

import { MASKED } from "../../model/layers/attention.ts";
import type { Ops } from "../../tensor/ops.ts";

/**
 * The log of the in-batch normaliser, `log Z`: -> [Q].
 *
 * scores: [Q, P]. normaliserMask: float32 [Q, P], 1 for the passages that count. logScale: [].
 */
export function inBatchLogNormaliser<T>(
  ops: Ops<T>,
  input: { scores: T; normaliserMask: T; logScale: T },
): T {
  const hidden = ops.multiply(
    ops.subtract(ops.scalar(1), input.normaliserMask),
    ops.scalar(MASKED),
  );
  const logits = ops.add(ops.multiply(input.scores, ops.exp(input.logScale)), hidden);
  const highest = ops.stopGradient(ops.max(logits, 1, { keep: true })); // against overflow
  const [questions] = ops.shape(input.scores);
  const sum = ops.sum(ops.exp(ops.subtract(logits, highest)), [1]);
  return ops.add(ops.log(sum), ops.reshape(highest, [questions!]));
}

/**
 * The KL divergence of each question, and the log of P_ret at its own candidates.
 *
 * ownScores: [Q, K], scores of a question's own candidates. target: [Q, K]. logNormaliser: [Q].
 * logScale: []. -> kl [Q], logProbabilities [Q, K]
 */
export function crossDocumentAdjustment<T>(
  ops: Ops<T>,
  input: { ownScores: T; target: T; logNormaliser: T; logScale: T },
): { kl: T; logProbabilities: T } {
  const [questions] = ops.shape(input.target);
  const normaliser = ops.reshape(input.logNormaliser, [questions!, 1]);
  const logProbabilities = ops.subtract(
    ops.multiply(input.ownScores, ops.exp(input.logScale)),
    normaliser,
  );
  const target = ops.stopGradient(input.target);
  // A share can underflow to 0. 0 log 0 is 0.
  const difference = ops.subtract(ops.log(ops.add(target, ops.scalar(1e-30))), logProbabilities);
  return { kl: ops.sum(ops.multiply(target, difference), [1]), logProbabilities };
}
