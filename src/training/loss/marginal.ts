/**
 * The marginal likelihood of the `marginal` objective. Letters of shapes: graph-inputs.ts.
 *
 *     P(a | q) = sum over candidates d of q of P(a | q, d) P(d | q)
 *
 * The reader reads each candidate alone. P(d | q) is the softmax of e^s r(q, d) over the question's
 * own candidates.
 *
 * Source: Guu et al. 2020 (REALM), Eq. 1.
 */

import type { Ops } from "../../tensor/ops.ts";
import { logSumExp } from "./log-sum-exp.ts";

/**
 * `log P(a | q)`: -> [Q].
 *
 * answers: [Q, K], log P(a | q, d). candidates: [Q, K], log P(d | q).
 */
export function marginalLogLikelihood<T>(
  ops: Ops<T>,
  { answers, candidates }: { answers: T; candidates: T },
): T {
  return logSumExp(ops, ops.add(answers, candidates));
}
