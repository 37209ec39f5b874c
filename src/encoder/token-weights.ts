/**
 * Token weights: how much each token of a question counts in the retrieval score. The mean over
 * question tokens of the best passage token (ReAtt, section 2.2) becomes a weighted mean:
 *
 *     r(q, d) = sum_i w(q_i) max_j Q_i . K_j / sum_i w(q_i)
 *
 * A model stores log w for each token of its vocabulary. Query vectors are multiplied by weights
 * with the mean 1, so search, index and engines need not know of them.
 *
 * Why: vectors of cosines have the length 1, so a vector cannot say that its token matters little.
 *
 * Source: Archish S et al. 2025, "Incorporating Token Importance in Multi-Vector Retrieval"
 * (https://arxiv.org/abs/2511.16106). The weighted mean, in place of their sum, is of this package.
 */

import type { Ops } from "../tensor/ops.ts";

/**
 * The weight of each token of a question, with the mean 1 over its tokens: -> [batch, length]. It
 * is 0 for padding.
 *
 * @param logWeights [vocabularySize]
 * @param ids int32 [batch, length]
 * @param mask float32 [batch, length]
 */
export function weightsOfTokens<T>(ops: Ops<T>, logWeights: T, ids: T, mask: T): T {
  const sum = (x: T): T => ops.sum(x, [1], { keep: true });
  const weights = ops.multiply(ops.exp(ops.gather(logWeights, ids)), mask);
  return ops.divide(ops.multiply(weights, sum(mask)), sum(weights));
}
