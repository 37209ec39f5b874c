/** Estimates the scores of passages from the nearest tokens of each question token. */

import { type Ranking, ranked } from "../scoring/top-k.ts";

/**
 * Tokens of the first request, for each question token. Source: Retrieval as Attention, section
 * 4.1.
 */
export const FIRST_TOKENS = 2048;

/** The tokens nearest to one question token, best first. There can be fewer than requested. */
export interface TokenHits {
  /** The passage of each token. */
  readonly ordinals: Uint32Array;
  /** The product of each with the question token; approximate in an approximate index. */
  readonly scores: Float32Array;
}

/**
 * Scores passages by the hits of a question. `hits` has one entry for each question token.
 *
 *     seen: mean_i max(best_i, s_i)     any other: mean_i s_i
 *
 * best_i is the best product of the passage's tokens that were returned for question token i (-inf
 * if none was). s_i is the last product that was returned for i; it stands for missing products. If
 * the hits are exact, a token that was not returned has a product of at most s_i, so both values
 * are upper bounds of the score.
 * Source: Lee et al., Rethinking the Role of Token Retrieval in Multi-Vector Retrieval (XTR), 2023,
 * section 3.2.
 */
export function scoreByHits(hits: readonly TokenHits[]): { seen: Ranking; unseen: number } {
  const gains = new Map<number, number>(); // sum over question tokens of the score above `unseen`
  let missing = 0;
  for (const { ordinals, scores } of hits) {
    const last = scores.at(-1) ?? 0;
    missing += last;
    const met = new Set<number>();
    for (const [rank, ordinal] of ordinals.entries()) {
      if (met.has(ordinal)) continue; // hits are sorted, so the first is the best
      met.add(ordinal);
      gains.set(ordinal, (gains.get(ordinal) ?? 0) + scores[rank]! - last);
    }
  }
  const unseen = missing / hits.length;
  const ordinals = Uint32Array.from(gains.keys());
  const scores = Float64Array.from(gains.values(), (gain) => unseen + gain / hits.length);
  return { seen: ranked({ ordinals, scores }), unseen };
}
