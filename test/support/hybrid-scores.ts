/** Scores of hybrid search for passages with one letter as a name. */

import type { HybridScores } from "../../src/retrieval/hybrid.ts";
import type { Ranking } from "../../src/retrieval/scoring/top-k.ts";

export const NAMES = "abcdefghxy";
export const ordinal = (name: string): number => NAMES.indexOf(name);

/** Passages with scores, in this order. */
export const ranking = (scores: Record<string, number>): Ranking => ({
  ordinals: Uint32Array.from(Object.keys(scores), ordinal),
  scores: Float64Array.from(Object.values(scores)),
});
export const union = (
  scores: Record<string, readonly [lexical: number, dense: number]>,
): HybridScores => ({
  ordinals: Uint32Array.from(Object.keys(scores), ordinal),
  lexical: Float64Array.from(Object.values(scores), ([lexical]) => lexical),
  dense: Float64Array.from(Object.values(scores), ([, dense]) => dense),
});
