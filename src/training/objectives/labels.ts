/**
 * Passages that are known to be relevant. A question with the positives D+ has the loss
 *
 *     L = -log sum over d in D+ of P_ret(d | q)
 *
 * P_ret is the retrieval distribution over the passages of the batch (cross-document-adjustment.ts,
 * negatives.ts). The loss equals the KL divergence of P_ret from the target
 *
 *     P_tgt(d) = P_ret(d | q) / (sum over d' in D+ of P_ret(d' | q))   for d in D+, else 0
 *
 * and has the same gradient, as no gradient flows to P_tgt. For one positive d+, P_tgt(d+) = 1.
 *
 * Sources: Karpukhin et al. 2020 (DPR), Eq. 2, for one positive; Lee et al. 2019 (ORQA), the loss
 * of early updates, for the sum over several.
 */

import { hiddenBias } from "../../model/layers/attention.ts";
import type { Ops } from "../../tensor/ops.ts";
import {
  candidateLogits,
  crossDocumentAdjustment,
  inBatchLogNormaliser,
} from "./cross-document-adjustment.ts";
import { countedPassages, type Negatives, positivesOf } from "./negatives.ts";
import { defineObjective, type Objective } from "./objective.ts";
import { hasPositives, perCandidate, type TokenExample } from "./token-batch.ts";

export interface LabelSettings extends Negatives {
  /** The factor of the loss. Default 1. */
  readonly weight?: number | undefined;
  /** The questions that learn from labels, of those that have positives. Default: all. */
  readonly trains?: ((example: TokenExample) => boolean) | undefined;
}

/**
 * The loss of DPR, with the passages of the batch as negatives.
 *
 * @example
 * ```ts
 * import { labels } from "reatt/training";
 *
 * const objective = [labels({ inBatchNegatives: false })];
 * console.log(objective.map(({ name }) => name)); // [ 'labels' ]
 * ```
 */
export function labels({
  weight = 1,
  trains = () => true,
  ...negatives
}: LabelSettings = {}): Objective {
  const isTrained = (example: TokenExample): boolean => hasPositives(example) && trains(example);
  return defineObjective({
    name: "labels",
    needs: ["retrieval"],
    acrossQuestions: negatives.inBatchNegatives !== false,
    terms: {
      labels: {
        weight,
        title: "Labels: retrieval loss",
        meaning:
          "Minus the log of the probability that one of the relevant passages is retrieved, among the passages of the batch. Half as many passages lower it by 0.7.",
      },
    },
    trains: isTrained,
    inputs: (batch) => ({
      ...countedPassages(batch, positivesOf, negatives),
      positives: perCandidate(batch, (example) => {
        const { passages, positives = [] } = example;
        return passages.map((_, k) => Number(isTrained(example) && positives.includes(k)));
      }),
    }),
    compute(ops, { retrieval }, { bias, counted, positives, questions }) {
      const ownLogits = candidateLogits(ops, {
        allLogits: retrieval.ownLogits,
        candidateMask: counted,
      });
      const logNormaliser = inBatchLogNormaliser(ops, { logits: retrieval.logits, bias });
      const target = positivesTarget(ops, { positives, ownLogits });
      const { kl } = crossDocumentAdjustment(ops, { ownLogits, target, logNormaliser });
      return { labels: ops.divide(ops.sum(kl, [0]), questions) };
    },
  });
}

/**
 * The distribution over the positives, 0 for a question without any: -> [Q, K].
 *
 * positives: float32 [Q, K]. ownLogits: [Q, K].
 */
export function positivesTarget<T>(
  ops: Ops<T>,
  { positives, ownLogits }: { positives: T; ownLogits: T },
): T {
  const others = hiddenBias(ops, positives);
  const known = ops.softmax(ops.add(ownLogits, others)); // [Q, K]
  return ops.multiply(ops.max(positives, 1, { keep: true }), known);
}
