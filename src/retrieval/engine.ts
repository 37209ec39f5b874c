/** What finds the best passages of a store, and the second pass that all such engines share. */

import { Best, type ScoredPassage } from "./best.ts";
import { avgMax } from "./score.ts";
import type { KeyStore } from "./store.ts";

export interface Search {
  readonly topK: number;
  /** Whether a passage may be found. Of deleted ones this says no. */
  readonly accept: (ordinal: number) => boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface SearchEngine extends AsyncDisposable {
  /** For each question ([tokens, dimension]) the best accepted passages, in the order of `byScore`, with exact scores. */
  search(questions: readonly Float32Array[], search: Search): Promise<ScoredPassage[][]>;
}

/** The best of `candidates` by the score over all their tokens. */
export async function rescore(
  store: KeyStore,
  question: Float32Array,
  candidates: readonly ScoredPassage[],
  topK: number,
): Promise<ScoredPassage[]> {
  const best = new Best(topK);
  for (const { ordinal } of candidates)
    best.push(ordinal, avgMax(question, await store.keys(ordinal), store.dimension));
  return best.take().slice(0, topK);
}

/**
 * How far an avg-max over float32 products can be from the exact one, whatever the order of summation:
 *
 *     e = (1/n) sum_i g |q_i| max_j |k_j|,   g = d u / (1 - d u),   u = 2^-24
 *
 * since a float32 product of d terms is off by at most g sum |q||k| <= g |q| |k|, and neither maximum nor mean adds to
 * the largest error. So every passage of the exact top K has a float32 score of at least t - e, where t is the exact
 * K-th; the K-th float32 score is at most t + e; what is more than 2e below it cannot be among the K.
 * Source: Higham, Accuracy and Stability of Numerical Algorithms, section 3.1.
 */
export function float32Error(question: Float32Array, { dimension, longestKey }: KeyStore): number {
  const u = 2 ** -24;
  const g = (dimension * u) / (1 - dimension * u);
  let lengths = 0;
  for (let i = 0; i < question.length; i += dimension)
    lengths += Math.hypot(...question.subarray(i, i + dimension));
  return (g * lengths * longestKey * dimension) / question.length;
}
