/**
 * The target of questions whose positives are known. Letters of shapes: graph-inputs.ts.
 *
 * The loss of a question with the positives D+ is the negative log likelihood of retrieving any of
 * them:
 *
 *     L = -log sum over d in D+ of P_ret(d | q)
 *
 * It equals the KL divergence of cross-document-adjustment.ts for the target
 *
 *     P_tgt(d) = P_ret(d | q) / (sum over d' in D+ of P_ret(d' | q))   for d in D+, else 0
 *
 * and has the same gradient, as no gradient flows to P_tgt. For one positive d+, P_tgt(d+) = 1.
 *
 * Sources: Karpukhin et al. 2020 (DPR), Eq. 2, for one positive; Lee et al. 2019 (ORQA), the loss
 * of early updates, for the sum over several. A question without positives keeps the target
 * attention of ReAtt. The combination is an addition of this project.
 */

import { hiddenBias } from "../../model/layers/attention.ts";
import type { Ops } from "../../tensor/ops.ts";

/**
 * The distribution over the positives, or the target attention of the questions that have none:
 * -> [Q, K].
 *
 * positives: float32 [Q, K]. ownLogits: [Q, K], see `candidateLogits`. targetAttention: [Q, K].
 */
export function retrievalTarget<T>(
  ops: Ops<T>,
  input: { positives: T; ownLogits: T; targetAttention: T },
): T {
  const isUnknown = ops.subtract(ops.scalar(1), hasPositives(ops, input.positives));
  const known = positivesTarget(ops, input);
  return ops.add(known, ops.multiply(isUnknown, input.targetAttention));
}

/** The distribution over the positives, 0 for a question without any: -> [Q, K]. */
export function positivesTarget<T>(
  ops: Ops<T>,
  { positives, ownLogits }: { positives: T; ownLogits: T },
): T {
  const others = hiddenBias(ops, positives);
  const known = ops.softmax(ops.add(ownLogits, others)); // [Q, K]
  return ops.multiply(hasPositives(ops, positives), known);
}

/** -> [Q, 1] */
const hasPositives = <T>(ops: Ops<T>, positives: T): T => ops.max(positives, 1, { keep: true });
