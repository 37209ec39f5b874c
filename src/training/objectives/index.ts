/** The objectives of the papers by the names that options give them. */

import { copyAttention } from "./copy-attention.ts";
import { distillation } from "./distillation.ts";
import { givenScores } from "./given-scores.ts";
import { labels } from "./labels.ts";
import { likelihood } from "./likelihood.ts";
import { marginal } from "./marginal.ts";
import type { Objective } from "./objective.ts";
import { answerPhrases } from "./phrases.ts";
import { reading } from "./reading.ts";
import { hasAnswer, hasPositives, type TokenExample } from "./token-batch.ts";

/**
 * What a training step minimises:
 *
 * - `distillation`: reading, and the decoder's attention distilled into retrieval (ReAtt, Eq. 3)
 * - `supervised`: reading, and labels; questions without a label learn from the decoder
 * - `likelihood`: labels, and the likelihood of the answer given each passage distilled into
 *   retrieval (Atlas). The reader teaches and learns nothing
 * - `marginal`: one likelihood for retrieval and reading (REALM)
 * - `qa`: reading alone
 * - `retrieval`: labels and given scores. The upper layers and the decoder are not computed.
 */
export const OBJECTIVES = [
  "distillation",
  "supervised",
  "likelihood",
  "marginal",
  "qa",
  "retrieval",
] as const;

export type ObjectiveName = (typeof OBJECTIVES)[number];

/** Whether an objective trains what only reading uses. The others train retrieval alone. */
export const trainsReading = (name: ObjectiveName): boolean =>
  name !== "retrieval" && name !== "likelihood";

/** Weights and settings of the objectives of a name. */
export interface ObjectiveSettings {
  /** Weight of the retrieval loss of `distillation`, `supervised` and `likelihood`. Default 8. */
  readonly alpha?: number | undefined;
  /** Weight of the copy-attention loss of objectives that read. Default 0. */
  readonly copyAttention?: number | undefined;
  /** Weight of the phrase loss of objectives with a retrieval target. Default 0. */
  readonly phraseLoss?: number | undefined;
  /** Default true. */
  readonly inBatchNegatives?: boolean | undefined;
  /** Default false. */
  readonly relevantNegatives?: boolean | undefined;
  /** Divides given scores. Default 1. */
  readonly scoreTemperature?: number | undefined;
}

/** The objectives of a name. The loss of a run is the sum of theirs. */
export function objectivesOf(
  name: ObjectiveName,
  { alpha = 8, copyAttention: copying = 0, phraseLoss = 0, ...settings }: ObjectiveSettings = {},
): Objective[] {
  const { inBatchNegatives, relevantNegatives, scoreTemperature: temperature } = settings;
  const negatives = { inBatchNegatives, relevantNegatives };
  const read = [reading(), ...(copying > 0 ? [copyAttention(copying)] : [])];
  const phrases = phraseLoss > 0 ? [answerPhrases({ weight: phraseLoss, ...negatives })] : [];
  switch (name) {
    case "qa":
      return read;
    case "marginal":
      return [marginal()];
    case "retrieval":
      return [labels(negatives), givenScores({ temperature }), ...phrases];
    case "distillation": {
      const unread = labels({ ...negatives, weight: alpha, trains: (one) => !hasAnswer(one) });
      return [...read, distillation({ ...negatives, alpha }), unread, ...phrases];
    }
    case "likelihood": {
      const trains = (one: TokenExample): boolean => one.isLabelled === true || !hasAnswer(one);
      const known = labels({ ...negatives, weight: alpha, trains });
      return [likelihood({ ...negatives, alpha }), known, ...phrases];
    }
    case "supervised": {
      const trains = (one: TokenExample) => hasAnswer(one) && !hasPositives(one);
      const unlabelled = distillation({ ...negatives, alpha, trains });
      const known = labels({ ...negatives, weight: alpha });
      return [...read, known, unlabelled, ...phrases];
    }
  }
}
