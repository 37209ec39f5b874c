/**
 * The reader's likelihood as the target of retrieval: a passage is as relevant as it makes the
 * answer likely. Letters of shapes: token-batch.ts.
 *
 *     L = alpha KL(P_tgt || P_ret)
 *     P_tgt(d) = softmax over the candidates d of q of log P(a | q, d)
 *
 * The reader reads each candidate alone, and learns nothing: no gradient flows to P_tgt. P_ret is
 * the retrieval distribution over the passages of the batch (cross-document-adjustment.ts).
 *
 * Source: Izacard et al. 2022 (Atlas), section 2.2, perplexity distillation.
 */

import type { Ops } from "../../tensor/ops.ts";
import { adjustmentTo, candidateLogits } from "./cross-document-adjustment.ts";
import { candidatesOf, countedPassages, type Negatives } from "./negatives.ts";
import { defineObjective, type Objective } from "./objective.ts";
import { hasAnswer, perQuestion, type TokenExample } from "./token-batch.ts";

export interface LikelihoodSettings extends Negatives {
  /** The factor of the loss. Default 1. */
  readonly alpha?: number | undefined;
  /** The questions that learn from the reader, of those that have an answer. Default: all. */
  readonly trains?: ((example: TokenExample) => boolean) | undefined;
}

/**
 * The perplexity distillation of Atlas.
 *
 * @example
 * ```ts
 * import { likelihood, openTrainer } from "reatt/training";
 *
 * const paris = { id: "1", title: "Paris", text: "Paris is the capital of France." };
 * const rome = { id: "2", title: "Rome", text: "Rome is the capital of Italy." };
 * await using trainer = await openTrainer("models/reatt-mini", { objective: likelihood() });
 * const { terms } = await trainer.step({
 *   questions: ["What is the capital of France?"],
 *   answers: ["Paris"],
 *   passages: [[paris, rome]],
 * });
 * console.log(Object.keys(terms)); // [ 'likelihood' ]
 * ```
 */
export function likelihood({
  alpha = 1,
  trains = () => true,
  ...negatives
}: LikelihoodSettings = {}): Objective {
  const isTrained = (example: TokenExample): boolean => hasAnswer(example) && trains(example);
  return defineObjective({
    name: "likelihood",
    needs: ["retrieval", "teacherLogLikelihoods"],
    acrossQuestions: negatives.inBatchNegatives !== false,
    terms: {
      likelihood: {
        weight: alpha,
        title: "Likelihood of the answer: KL",
        meaning:
          "KL divergence of retrieval from the likelihood of the answer given each candidate, over the passages of the batch. It falls while retrieval learns to find what the reader can answer from.",
      },
    },
    trains: isTrained,
    inputs: (batch) => ({
      ...countedPassages(batch, candidatesOf, negatives),
      trained: perQuestion(batch, (example) => Number(isTrained(example))),
    }),
    compute(ops, outputs, { bias, counted, trained, questions, isCandidate }) {
      const { retrieval, teacherLogLikelihoods: answers } = outputs;
      const column = ops.reshape(trained, [...ops.shape(trained), 1]);
      const target = ops.multiply(column, likelihoodTarget(ops, { answers, isCandidate }));
      const { kl } = adjustmentTo(ops, target, retrieval, { bias, counted });
      return { likelihood: ops.divide(ops.sum(kl, [0]), questions) };
    },
  });
}

/**
 * The distribution over the candidates that makes the reader the teacher: -> [Q, K], 0 for padding.
 *
 * answers: [Q, K], log P(a | q, d). isCandidate: float32 [Q, K].
 */
export const likelihoodTarget = <T>(
  ops: Ops<T>,
  { answers, isCandidate }: { answers: T; isCandidate: T },
): T => ops.softmax(candidateLogits(ops, { allLogits: answers, candidateMask: isCandidate }));
