/** What an index of tokens returns for the tokens of a question, and what that says of the scores of passages. */

import { byScore, type ScoredPassage } from "../scoring/top-k.ts";

/** Tokens that are asked for at first, for each question token. Source: Retrieval as Attention, section 4.1. */
export const FIRST_TOKENS = 2048;

/** The tokens nearest to one question token, best first: fewer than were asked for where no more are found. */
export interface TokenHits {
  /** The passage of each token. */
  readonly ordinals: Uint32Array;
  /** MatMul with the question token; they may be approximate. */
  readonly scores: Float32Array;
}

/**
 * Scores of passages by the hits of a question, one entry a question token:
 *
 *     seen: mean_i max(best_i, s_i)     any other: mean_i s_i
 *
 * where best_i is the best product of the passage's tokens that were returned for question token i (-inf if none was),
 * and s_i the last product that was returned for it, which stands for what is missing. Where the hits are exact, a
 * token that was not returned has a product of s_i at most, so both are upper bounds of the score.
 * Source: Lee et al., Rethinking the Role of Token Retrieval in Multi-Vector Retrieval (XTR), 2023, section 3.2.
 */
export function scoreByHits(hits: readonly TokenHits[]): { seen: ScoredPassage[]; unseen: number } {
  const gains = new Map<number, number>(); // by how much a passage is above `unseen`, summed
  let missing = 0;
  for (const { ordinals, scores } of hits) {
    const last = scores.at(-1) ?? 0;
    missing += last;
    const met = new Set<number>();
    for (const [rank, ordinal] of ordinals.entries()) {
      if (met.has(ordinal)) continue; // the first met is the best
      met.add(ordinal);
      gains.set(ordinal, (gains.get(ordinal) ?? 0) + scores[rank]! - last);
    }
  }
  const unseen = missing / hits.length;
  const seen = Array.from(gains, ([ordinal, gain]) => ({
    ordinal,
    score: unseen + gain / hits.length,
  }));
  return { seen: seen.sort(byScore), unseen };
}
