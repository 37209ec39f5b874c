/**
 * Token pruning: chooses the tokens of a passage that get a key in the index.
 *
 * A model with a pruning layer keeps the tokens whose logit is above one threshold for all
 * passages, so passages with more to find keep more of them. Without a layer, each passage keeps
 * the share of its tokens whose keys are farthest from those of earlier tokens: the label-free
 * choice that costs least (docs/experiments/pruning.md). Passages do not depend on each other, so
 * shards and additions make the same choice as a single build.
 */

import { InputError } from "../../../io/errors.ts";
import {
  noveltyOf,
  type PruningRule,
  pruningFeatures,
  pruningLogits,
} from "../../../model/token-pruning.ts";
import { topPositions } from "../../scoring/top-k.ts";
import type { IndexHeader } from "../format/manifest.ts";

type Pruned = Pick<IndexHeader, "dimension" | "keepTokens" | "pruning">;

/**
 * The numbers of the rows of `keys` [tokens, dimension] that an index with this header holds,
 * ascending: at least one.
 */
export function keptRows(
  keys: Float32Array,
  { dimension, keepTokens = 1, pruning = "novelty" }: Pruned,
): number[] {
  const scores = scoresOf(pruning, keys, dimension);
  const count =
    pruning === "novelty"
      ? keptTokenCount(scores.length, keepTokens)
      : Math.max(1, scores.filter((score) => score >= pruning.threshold).length);
  return bestRows(scores, count);
}

/**
 * Chooses the rows of a passage of an index again; undefined if it is not pruned.
 *
 * @param count keys of the passage in the index. Above a threshold could be another number: a
 * passage that is encoded alone is padded in another way, which changes the rounding
 * @throws {InputError} if an earlier version pruned the index
 */
export function chooserOf(
  { dimension, keepTokens, pruning }: Pruned,
  count: number,
): ((keys: Float32Array) => number[]) | undefined {
  if (keepTokens === undefined) return undefined;
  if (pruning === undefined) throw prunedByAttention("index");
  return (keys) => bestRows(scoresOf(pruning, keys, dimension), count);
}

export const prunedByAttention = (directory: string): InputError =>
  new InputError({
    where: directory,
    expected: "an index that stores how its tokens were chosen",
    got: "one that an earlier version pruned",
    remedy: "build it again",
  });

/** A number for each token by which the rule ranks them. */
const scoresOf = (rule: PruningRule, keys: Float32Array, dimension: number): Float32Array =>
  rule === "novelty"
    ? noveltyOf(keys, dimension)
    : Float32Array.from(pruningLogits(rule.weights, pruningFeatures(keys, dimension)));

const bestRows = (scores: Float32Array, count: number): number[] =>
  topPositions(scores, count).sort((a, b) => a - b);

/** The number of tokens of a passage that are the share `keepRatio`: at least 1. */
export const keptTokenCount = (tokens: number, keepRatio: number): number =>
  Math.max(1, Math.round(keepRatio * tokens));

/** Copies some rows of `keys` [tokens, dimension]. */
export function pickRows(
  keys: Float32Array,
  rows: readonly number[],
  dimension: number,
): Float32Array {
  const kept = new Float32Array(rows.length * dimension);
  for (const [i, row] of rows.entries())
    kept.set(keys.subarray(row * dimension, (row + 1) * dimension), i * dimension);
  return kept;
}
