/**
 * The pruning layer that a model can store: a linear layer that tells which tokens of a passage
 * questions need. It is not part of the fingerprint: an index stores the rule that chose its tokens
 * (`PruningRule`), so the layer of a model can change while its indexes stay valid.
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

/** `pruning` of `config.json`; of a T5, `token_pruning`. */
export interface TokenPruning {
  /** The logit of a token is `weights . features`: [headSize + 3], the last is the intercept. */
  readonly weights: readonly number[];
  /** [16], descending: tokens of the training passages above each are the share 0.25, ..., 1. */
  readonly thresholds: readonly number[];
}

const numbers = z.array(z.number("a number"), "a list of numbers").readonly();

export const TokenPruningFile = z.strictObject(
  { weights: numbers, thresholds: numbers },
  "{ weights, thresholds }",
);

/**
 * How an index chose the tokens that have keys: those whose logit is at least `threshold`, and at
 * least one of each passage; or a share of each passage by novelty.
 */
export type PruningRule =
  | "novelty"
  | { readonly weights: readonly number[]; readonly threshold: number };

/** The rule that keeps a share of the tokens, from 0.25 to 1, with the layer of a model, if any. */
export function pruningRule(layer: TokenPruning | undefined, share: number): PruningRule {
  if (layer === undefined) return "novelty";
  const { weights, thresholds } = layer;
  const at = (share - PRUNING_SHARES[0]!) / (PRUNING_SHARES[1]! - PRUNING_SHARES[0]!);
  const before = Math.min(Math.floor(at), thresholds.length - 2);
  const [above, below] = [thresholds[before]!, thresholds[before + 1]!];
  return { weights, threshold: above + (at - before) * (below - above) };
}

/** Values beside those of the key itself. */
const MORE_FEATURES = 3;

/** Weights of a layer for keys of `dimension` values. */
export const pruningWeights = (dimension: number): number => dimension + MORE_FEATURES;

/**
 * What the layer knows of each token of a passage: its key k, its length |k|, which is greater for
 * rare words, its novelty, and 1. [tokens][dimension + 3]
 *
 * @param keys of a passage: [tokens, dimension]
 */
export function pruningFeatures(keys: Float32Array, dimension: number): Float64Array[] {
  const novelty = noveltyOf(keys, dimension);
  return Array.from(novelty, (value, token) => {
    const key = keys.subarray(token * dimension, (token + 1) * dimension);
    return Float64Array.of(...key, Math.sqrt(dot(key, key)), value, 1);
  });
}

/**
 * The novelty of each token: the Euclidean distance of its key to the nearest key of an earlier
 * token of the passage; of the first token, to 0. It bounds what the removal of the token costs,
 * because a question vector q matches the earlier token instead:
 *
 *     q . k_j - q . k_i <= |q| |k_j - k_i|
 *
 * Only earlier tokens count, so that of two equal keys the first is kept.
 *
 * @param keys of a passage: [tokens, dimension]
 */
export function noveltyOf(keys: Float32Array, dimension: number): Float32Array {
  const rows = Array.from({ length: keys.length / dimension }, (_, token) =>
    keys.subarray(token * dimension, (token + 1) * dimension),
  );
  const squares = rows.map((row) => dot(row, row));
  return Float32Array.from(rows, (row, j) => {
    let nearest = j === 0 ? squares[0]! : Infinity;
    for (let i = 0; i < j; i++)
      nearest = Math.min(nearest, squares[i]! + squares[j]! - 2 * dot(rows[i]!, row));
    return Math.sqrt(Math.max(0, nearest)); // below 0 by rounding
  });
}

/** The logit of each token. */
export const pruningLogits = (
  weights: readonly number[],
  features: readonly Float64Array[],
): Float64Array => Float64Array.from(features, (row) => dot(row, weights));

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
