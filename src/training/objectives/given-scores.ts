/**
 * Scores of candidates that the data gives, such as those of a ranker. A question with the scores
 * t(d) of its candidates S has the loss
 *
 *     L = KL(P_given || P_S)
 *     P_given(d) = softmax over d in S of t(d) / temperature
 *     P_S(d) = softmax over d in S of e^s r(q, d)
 *
 * Source: Santhanam et al. 2022 (ColBERTv2), section 3.2.
 */

import { hiddenBias } from "../../model/layers/attention.ts";
import type { Ops } from "../../tensor/ops.ts";
import { defineObjective, type Objective } from "./objective.ts";
import { perCandidate, type TokenExample } from "./token-batch.ts";

export interface GivenScoresSettings {
  /** The factor of the loss. Default 1. */
  readonly weight?: number | undefined;
  /** Divides the scores. Default 1. */
  readonly temperature?: number | undefined;
}

/**
 * Listwise distillation of given scores into retrieval.
 *
 * @example
 * ```ts
 * import { givenScores, labels } from "reatt/training";
 *
 * const objective = [labels(), givenScores({ temperature: 2 })];
 * console.log(objective.map(({ name }) => name)); // [ 'labels', 'givenScores' ]
 * ```
 */
export const givenScores = ({ weight = 1, temperature = 1 }: GivenScoresSettings = {}): Objective =>
  defineObjective({
    name: "givenScores",
    needs: ["retrieval"],
    acrossQuestions: false,
    terms: {
      givenScores: {
        weight,
        title: "Given scores: KL",
        meaning:
          "KL divergence of retrieval from the scores of the data, over the scored candidates of a question.",
      },
    },
    trains: hasScores,
    inputs: (batch) => ({
      target: perCandidate(batch, ({ scores = [] }) => givenDistribution(scores, temperature)),
      scored: perCandidate(batch, ({ scores = [] }) =>
        scores.map((score) => Number(score !== undefined)),
      ),
    }),
    compute(ops, { retrieval }, { target, scored, questions }) {
      const ofQuestions = softTargetLoss(ops, { logits: retrieval.ownLogits, target, scored });
      return { givenScores: ops.divide(ops.sum(ofQuestions, [0]), questions) };
    },
  });

const hasScores = ({ scores = [] }: TokenExample): boolean =>
  scores.some((score) => score !== undefined);

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
 * logits: [Q, K], e^s r(q, d). target, scored: float32 [Q, K].
 */
export function softTargetLoss<T>(
  ops: Ops<T>,
  { logits, target, scored }: { logits: T; target: T; scored: T },
): T {
  const others = hiddenBias(ops, scored);
  const logProbabilities = ops.multiply(ops.logSoftmax(ops.add(logits, others)), scored);
  // A share can underflow to 0. 0 log 0 is 0.
  const logTargets = ops.log(ops.add(target, ops.scalar(1e-30)));
  return ops.sum(ops.multiply(target, ops.subtract(logTargets, logProbabilities)), [1]);
}
