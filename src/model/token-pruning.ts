/**
 * The pruning layer that a model can store: a linear layer on token keys that tells which tokens of
 * a passage questions need. It is not part of the fingerprint: an index stores the rule that chose
 * its tokens (`PruningRule`), so the layer of a model can change while its indexes stay valid.
 *
 * Source of the idea: Lee et al. 2021 (DensePhrases), appendix E, the filter layer; after Seo et
 * al. 2019, section 5.2.
 */

import { z } from "zod";

/** The shares of tokens whose thresholds a layer has: 0.25, 0.3, ..., 1. */
export const PRUNING_SHARES: readonly number[] = Array.from(
  { length: 16 },
  (_, i) => 0.25 + i / 20,
);

/**
 * `token_pruning` of `config.json`. The logit of a token with the key k is
 *
 *     s = weights . k + norm |k|
 *
 * The Euclidean length |k| is an input because rare words have long keys.
 */
export interface TokenPruning {
  /** [headSize] */
  readonly weights: readonly number[];
  readonly norm: number;
  /** [16], descending: tokens of the training passages above each are the share 0.25, ..., 1. */
  readonly thresholds: readonly number[];
}

const numbers = z.array(z.number("a number"), "a list of numbers").readonly();

export const TokenPruningFile = z.strictObject(
  { weights: numbers, norm: z.number("a number"), thresholds: numbers },
  "{ weights, norm, thresholds }",
);

/**
 * How an index chose the tokens that have keys: those whose logit is at least `threshold`, and at
 * least one of each passage; or `norm`, the share of each passage with the longest keys.
 */
export type PruningRule =
  | "norm"
  | (Pick<TokenPruning, "weights" | "norm"> & { readonly threshold: number });

/** The rule that keeps a share of the tokens, from 0.25 to 1, with the layer of a model, if any. */
export function pruningRule(layer: TokenPruning | undefined, share: number): PruningRule {
  if (layer === undefined) return "norm";
  const { weights, norm, thresholds } = layer;
  const at = (share - PRUNING_SHARES[0]!) / (PRUNING_SHARES[1]! - PRUNING_SHARES[0]!);
  const before = Math.min(Math.floor(at), thresholds.length - 2);
  const [above, below] = [thresholds[before]!, thresholds[before + 1]!];
  return { weights, norm, threshold: above + (at - before) * (below - above) };
}

/** A number for each token by which pruning ranks: [tokens], from keys [tokens, dimension]. */
export function pruningScores(
  rule: PruningRule,
  keys: Float32Array,
  dimension: number,
): Float32Array {
  const { weights, norm } = rule === "norm" ? { weights: undefined, norm: 1 } : rule;
  return Float32Array.from({ length: keys.length / dimension }, (_, token) => {
    let [product, squares] = [0, 0];
    for (let d = 0; d < dimension; d++) {
      const value = keys[token * dimension + d]!;
      product += weights ? weights[d]! * value : 0;
      squares += value * value;
    }
    return product + norm * Math.sqrt(squares);
  });
}
