/**
 * The copy-attention loss, an addition of this project. Letters of shapes: graph-inputs.ts.
 *
 * It trains the cross-attention of the last decoder layer to look at the occurrences of the answer.
 * A(t, j) is that attention from answer token t to input token j, averaged over heads. O(t) are the
 * input tokens that are token t of an occurrence of the whole answer:
 *
 *     loss = -1/N sum over t of log sum over j in O(t) of A(t, j)
 *
 * Tokens with an empty O(t) add nothing. N is the number of answer tokens of the batch.
 *
 * A model that reads poorly learns from it where to look (docs/experiments/reatt-mini.md).
 * Related work: Mi et al. 2016 supervise the attention of a decoder; See et al. 2017 copy words by
 * attention.
 */

import type { Ops } from "../../tensor/ops.ts";

/**
 * The log of the attention that falls on the answer, 0 for tokens that occur nowhere: -> [Q, T].
 *
 * attention: [Q, T, K (n + m)], the mean over heads. copyMask: float32 [Q, T, K (n + m)].
 */
export function copyAttentionLogShares<T>(ops: Ops<T>, input: { attention: T; copyMask: T }): T {
  const share = ops.sum(ops.multiply(input.attention, input.copyMask), [2]);
  const occurs = ops.max(input.copyMask, 2);
  // A share can underflow to 0.
  return ops.multiply(ops.log(ops.add(share, ops.scalar(1e-9))), occurs);
}
