/**
 * The target of the `supervised` objective. Letters of shapes: graph-inputs.ts.
 *
 * A question with a labelled passage d+ has the target P_tgt(d+) = 1. The KL divergence of
 * cross-document-adjustment.ts is then the negative log likelihood of that passage:
 *
 *     KL = -log P_ret(d+ | q)
 *
 * Source: Karpukhin et al. 2020 (DPR), Eq. 2. A question without a label keeps the target attention
 * of ReAtt. The combination is an addition of this project.
 */

import type { Ops } from "../../tensor/ops.ts";

/**
 * The relevance labels, or the target attention of the questions that have no label: -> [Q, K].
 *
 * relevance: float32 [Q, K], at most one 1 in a row. targetAttention: [Q, K].
 */
export function supervisedTarget<T>(ops: Ops<T>, relevance: T, targetAttention: T): T {
  const unlabelled = ops.subtract(ops.scalar(1), ops.sum(relevance, [1], { keep: true })); // [Q, 1]
  return ops.add(relevance, ops.multiply(unlabelled, targetAttention));
}
