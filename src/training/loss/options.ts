/** What a loss graph minimises, and with which weights. */

/**
 * The objective of a training step:
 *
 * - `distillation`: `nll + alpha KL(target attention || retrieval)` (ReAtt, Eq. 3). See
 *   cross-document-adjustment.ts.
 * - `supervised`: `nll + alpha KL(relevance || retrieval)`. See supervised.ts.
 * - `marginal`: the likelihood of the answer, summed over passages that are read one by one. See
 *   marginal.ts.
 * - `qa`: `nll` alone. Retrieval is not trained.
 * - `retrieval`: the retrieval loss of known positives and of given scores. The upper layers and
 *   the decoder are not computed. See retrieval-only.ts.
 */
export type ObjectiveName = "distillation" | "supervised" | "marginal" | "qa" | "retrieval";

/** Whether an objective can have the phrase loss. `qa` and `marginal` have no retrieval target. */
export const learnsPhrases = (objective: ObjectiveName): boolean =>
  objective !== "qa" && objective !== "marginal";

/**
 * The part of the query side that is trained where token keys have to stay as they are, so that an
 * index stays valid (model/fingerprint.ts): the query projection of the retrieval head, or all
 * layers of the query encoder. Source: Lee et al. 2021 (DensePhrases), section 6.
 */
export type QuerySide = "projection" | "layers";

/**
 * The version of the training loss. It changes when equal options give another loss, or train other
 * parameters: a run of another version cannot be resumed. Plans without it are of version 1, which
 * counted each copy of a passage and had one positive for each question. Version 2 trained also the
 * layers of a model with joint layers that its reader shares (trained-parameters.ts).
 */
export const LOSS_VERSION = 3;

export interface LossGraphOptions {
  readonly objective: ObjectiveName;
  /** Weight of the retrieval loss in `distillation`, `supervised` and `retrieval`. */
  readonly alpha: number;
  /**
   * Temperature of the learned head weights, which mix the scores of all heads. Without it,
   * retrieval uses the configured head alone.
   */
  readonly tau?: number | undefined;
  /** Trains this part alone. `layers` needs a model with a query encoder. */
  readonly querySide?: QuerySide | undefined;
  /** Weight of the copy-attention loss. Not used by `marginal`. Default 0. */
  readonly copyAttention?: number | undefined;
  /**
   * Weight of the phrase loss, for objectives with `learnsPhrases`. Needs a model with phrase
   * queries. Default 0.
   */
  readonly phraseLoss?: number | undefined;
}
