/**
 * Retrieval scores (ReAtt, section 2.2). Letters of shapes: graph-inputs.ts.
 *
 * For head h, the score of passage d for question q is the average over question tokens of the
 * maximum over passage tokens (Eq. 1):
 *
 *     r_h(q, d) = 1/|q| sum_i max_j Q_i . K_j
 *
 * Without `tau`, the score is that of the retrieval head. With `tau`, it is a mixture of all heads:
 *
 *     r(q, d) = sum_h P_h r_h(q, d)        P = softmax(w / tau)        w: learned head weights
 */

import { hiddenBias } from "../../model/layers/attention.ts";
import type { Ops } from "../../tensor/ops.ts";

/** Query vectors and token keys of the heads that score passages, with their masks. */
export interface RetrievalVectors<T> {
  /** [Q, H, n, e] */
  readonly queries: T;
  /** float32 [Q, n] */
  readonly questionMask: T;
  /** [U, H, m, e] */
  readonly keys: T;
  /** float32 [U, m] */
  readonly passageMask: T;
}

/** Scores of each question for each passage by each head (Eq. 1): -> [H, Q, U]. */
export function headScores<T>(
  ops: Ops<T>,
  { queries, questionMask, keys, passageMask }: RetrievalVectors<T>,
): T {
  const [questions, heads, n, size] = ops.shape(queries);
  const [passages, , m] = ops.shape(keys);
  // [H, Q n, e]
  const allQueries = ops.reshape(ops.transpose(queries, [1, 0, 2, 3]), [heads!, -1, size!]);
  // [H, e, U m]
  const allKeys = ops.reshape(ops.transpose(keys, [1, 3, 0, 2]), [heads!, size!, -1]);
  // [U, m]
  const hidden = hiddenBias(ops, passageMask);
  // [H, Q n, U m]
  const matches = ops.add(ops.matmul(allQueries, allKeys), ops.reshape(hidden, [1, 1, -1]));
  // [H, Q, n, U]
  const best = ops.max(ops.reshape(matches, [heads!, questions!, n!, passages!, m!]), 4);
  // [Q, n]
  const share = ops.divide(questionMask, ops.sum(questionMask, [1], { keep: true }));
  return ops.sum(ops.multiply(best, ops.reshape(share, [1, questions!, n!, 1])), [2]);
}

/** Scores of each question for each passage: -> [Q, U]. headWeights: [H], needed with `tau`. */
export function passageScores<T>(
  ops: Ops<T>,
  vectors: RetrievalVectors<T>,
  headWeights: T | undefined,
  tau: number | undefined,
): T {
  const ofHeads = headScores(ops, vectors);
  return tau === undefined ? ops.sum(ofHeads, [0]) : mixHeads(ops, ofHeads, headWeights!, tau);
}

/** `sum_h softmax(headWeights / tau)_h scores_h`: [H, Q, U], [H] -> [Q, U]. */
function mixHeads<T>(ops: Ops<T>, scores: T, headWeights: T, tau: number): T {
  const [heads] = ops.shape(headWeights);
  const shares = ops.softmax(ops.divide(headWeights, ops.scalar(tau)));
  return ops.sum(ops.multiply(scores, ops.reshape(shares, [heads!, 1, 1])), [0]);
}
