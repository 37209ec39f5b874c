/**
 * Distillation of the decoder's attention into retrieval (ReAtt, section 3.2).
 *
 *     L = alpha KL(P_tgt || P_ret)
 *
 * P_tgt is the target attention: what the decoder looks at when it writes the answer. P_ret is the
 * retrieval distribution over the passages of the batch (cross-document-adjustment.ts).
 */

import { adjustmentTo } from "./cross-document-adjustment.ts";
import { candidatesOf, countedPassages, type Negatives } from "./negatives.ts";
import { defineObjective, type Objective } from "./objective.ts";
import { hasAnswer, perQuestion, type TokenExample } from "./token-batch.ts";

export interface DistillationSettings extends Negatives {
  /** The factor of the loss. Default 8, as in the paper. */
  readonly alpha?: number | undefined;
  /** The questions that learn from the decoder. Default: those with an answer. */
  readonly trains?: ((example: TokenExample) => boolean) | undefined;
}

/**
 * The cross-document adjustment of ReAtt.
 *
 * @example
 * ```ts
 * import { distillation, reading } from "reatt/training";
 *
 * const objective = [reading(), distillation({ alpha: 8 })];
 * console.log(objective.map(({ name }) => name)); // [ 'reading', 'distillation' ]
 * ```
 */
export const distillation = ({
  alpha = 8,
  trains = hasAnswer,
  ...negatives
}: DistillationSettings = {}): Objective =>
  defineObjective({
    name: "distillation",
    needs: ["retrieval", "attention"],
    acrossQuestions: negatives.inBatchNegatives !== false,
    terms: {
      kl: {
        weight: alpha,
        title: "Distillation: KL",
        meaning:
          "KL divergence of retrieval from the decoder's attention, over the passages of the batch. It falls while retrieval learns to find what the decoder looks at.",
      },
      ownProbability: {
        weight: 0,
        title: "Probability on own passages",
        meaning:
          "Retrieval probability of a question's own candidates among all passages of the batch.",
      },
    },
    trains,
    inputs: (batch) => ({
      ...countedPassages(batch, candidatesOf, negatives),
      trained: perQuestion(batch, (example) => Number(trains(example))),
    }),
    compute(ops, { retrieval, attention }, { bias, counted, trained, questions }) {
      const column = ops.reshape(trained, [...ops.shape(trained), 1]);
      const target = ops.multiply(column, attention);
      const passages = { bias, counted };
      const { kl, logProbabilities } = adjustmentTo(ops, target, retrieval, passages);
      const own = ops.sum(ops.multiply(ops.exp(logProbabilities), column), [0, 1]);
      return {
        kl: ops.divide(ops.sum(kl, [0]), questions),
        ownProbability: ops.divide(ops.stopGradient(own), questions),
      };
    },
  });
