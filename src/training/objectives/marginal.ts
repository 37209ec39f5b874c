/**
 * One likelihood for retrieval and reading: the passage is a latent variable.
 *
 *     P(a | q) = sum over candidates d of q of P(a | q, d) P(d | q)
 *     L = -1/N sum over questions of log P(a | q)
 *
 * The reader reads each candidate alone. P(d | q) is the softmax of e^s r(q, d) over the question's
 * own candidates. N is the number of answer tokens of the batch.
 *
 * Source: Guu et al. 2020 (REALM), Eq. 1.
 */

import type { Ops } from "../../tensor/ops.ts";
import { logSumExp } from "./cross-document-adjustment.ts";
import { defineObjective, type Objective } from "./objective.ts";
import { answerTokens, meanNegative } from "./reading.ts";
import { hasAnswer } from "./token-batch.ts";

/**
 * The marginal likelihood of REALM.
 *
 * @example
 * ```ts
 * import { marginal } from "reatt/training";
 *
 * const objective = [marginal()];
 * console.log(objective.map(({ name }) => name)); // [ 'marginal' ]
 * ```
 */
export const marginal = (): Objective =>
  defineObjective({
    name: "marginal",
    needs: ["retrieval", "candidateLogLikelihoods"],
    acrossQuestions: false,
    terms: {
      nll: {
        weight: 1,
        title: "Marginal likelihood: nll",
        meaning:
          "Negative log-likelihood of the answer, summed over passages that are read one by one, for each answer token. It falls while retrieval and reading improve.",
      },
    },
    trains: hasAnswer,
    inputs: (batch) => ({ tokens: answerTokens(batch) }),
    compute(ops, { retrieval, candidateLogLikelihoods: answers }, { tokens }) {
      const candidates = ops.logSoftmax(retrieval.ownLogits);
      const likelihoods = marginalLogLikelihood(ops, { answers, candidates });
      return { nll: meanNegative(ops, likelihoods, tokens) };
    },
  });

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
