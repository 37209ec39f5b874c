/**
 * Passages that retrieval ranks higher have more weight in the decoder's attention. To the score of
 * each token of a passage z it adds
 *
 *     max(-2, beta e^s (r(x, z) - max over z' of r(x, z')))
 *
 * with the retrieval score r of z for the question x, the scale e^s that training learned
 * (`config.retrievalScale`) and beta from `config.relevanceWeight`. A model is so able to read
 * several passages if it was trained to read one. The difference to the best passage is taken
 * because softmax ignores what all tokens have in common. It has a lower bound, since a passage
 * that repeats the question is far ahead of the one that answers it, which must still be read.
 *
 * Source: Lewis et al. 2020, "Pre-training via Paraphrasing" (MARGE), Eq. 4.
 */

import type { ModelConfig } from "../model/config.ts";

const LEAST = -2;

/**
 * The term of each passage, 0 for the best. Undefined if the model reads all passages alike.
 *
 * @param scores r(x, z) of each passage
 */
export function relevances(
  { relevanceWeight, retrievalScale }: ModelConfig,
  scores: readonly number[],
): number[] | undefined {
  if (relevanceWeight === undefined) return undefined;
  const best = Math.max(...scores);
  return scores.map((score) => Math.max(LEAST, relevanceWeight * retrievalScale * (score - best)));
}
