/**
 * The cross-document adjustment loss (ReAtt, Eq. 2). Letters of shapes: token-batch.ts.
 *
 *     L_cross-doc = KL(P_tgt || P_ret)
 *     P_ret(d | q) = exp(e^s r(q, d)) / Z(q)
 *     Z(q) = sum over d' of exp(e^s r(q, d'))
 *
 * `d'` runs over D_q: the question's own candidates and, with in-batch negatives, the candidates of
 * all other questions of the batch (section 3.1). A passage is in D_q once. negatives.ts
 * determines D_q. Z is called the in-batch normaliser here. P_tgt, the target, is 0 for the
 * candidates of other questions (section 3.2). These therefore count in Z only. No gradient flows
 * to P_tgt.
 *
 * The learned scale e^s (`logScale` is s) is an addition of this project. The paper has no scale.
 */

import { hiddenBias } from "../../model/layers/attention.ts";
import type { Ops } from "../../tensor/ops.ts";

/**
 * The log of the in-batch normaliser, `log Z`: -> [Q].
 *
 * logits: [Q, U], e^s r(q, d). bias: float32 [Q, U], MASKED for passages that do not count.
 */
export const inBatchLogNormaliser = <T>(ops: Ops<T>, { logits, bias }: { logits: T; bias: T }): T =>
  logSumExp(ops, ops.add(logits, bias));

/**
 * The logits of a question's own candidates, `e^s r(q, d)`: -> [Q, K]. Candidates that do not count
 * get a logit near MASKED.
 *
 * allLogits: [Q, K], e^s r(q, d). candidateMask: float32 [Q, K].
 */
export function candidateLogits<T>(
  ops: Ops<T>,
  { allLogits, candidateMask }: { allLogits: T; candidateMask: T },
): T {
  const hidden = hiddenBias(ops, candidateMask);
  return ops.add(allLogits, hidden);
}

/**
 * The KL divergence of each question, and the log of P_ret at its own candidates.
 *
 * ownLogits: [Q, K], see `candidateLogits`. target: [Q, K], 0 for candidates that do not count.
 * logNormaliser: [Q]. -> kl [Q], logProbabilities [Q, K]
 */
export function crossDocumentAdjustment<T>(
  ops: Ops<T>,
  input: { ownLogits: T; target: T; logNormaliser: T },
): { kl: T; logProbabilities: T } {
  const [questions] = ops.shape(input.target);
  const logProbabilities = ops.subtract(
    input.ownLogits,
    ops.reshape(input.logNormaliser, [questions!, 1]),
  );
  const target = ops.stopGradient(input.target);
  // A share can underflow to 0. 0 log 0 is 0.
  const difference = ops.subtract(ops.log(ops.add(target, ops.scalar(1e-30))), logProbabilities);
  return { kl: ops.sum(ops.multiply(target, difference), [1]), logProbabilities };
}

/**
 * The same from the scores of a batch.
 *
 * retrieval: logits [Q, U], ownLogits [Q, K]. bias: float32 [Q, U]. counted: float32 [Q, K].
 */
export function adjustmentTo<T>(
  ops: Ops<T>,
  target: T,
  { logits, ownLogits }: { logits: T; ownLogits: T },
  { bias, counted }: { bias: T; counted: T },
): ReturnType<typeof crossDocumentAdjustment<T>> {
  const own = candidateLogits(ops, { allLogits: ownLogits, candidateMask: counted });
  const logNormaliser = inBatchLogNormaliser(ops, { logits, bias });
  return crossDocumentAdjustment(ops, { ownLogits: own, target, logNormaliser });
}

/** `log sum_j exp(x_ij)`: [..., columns] -> [...]. */
export function logSumExp<T>(ops: Ops<T>, x: T): T {
  const highest = ops.stopGradient(ops.max(x, -1, { keep: true })); // against overflow
  const sum = ops.sum(ops.exp(ops.subtract(x, highest)), [-1]);
  return ops.add(ops.log(sum), ops.reshape(highest, ops.shape(sum)));
}
