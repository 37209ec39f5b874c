/** The retrieval score of one passage, from its token keys in memory. */

import { dotProduct } from "./vectors.ts";

/**
 * f(p, q) = (1/n) sum_i max_j q_i . k_j, with products in float64, as `rescore` computes it.
 *
 * @param question query vectors, [n, dimension]
 * @param keys token keys of the passage, [tokens, dimension]
 */
export function exactScore(question: Float32Array, keys: Float32Array, dimension: number): number {
  let sum = 0;
  for (let i = 0; i < question.length; i += dimension) {
    const query = question.subarray(i, i + dimension);
    let best = -Infinity;
    for (let j = 0; j < keys.length; j += dimension)
      best = Math.max(best, dotProduct(query, 0, keys, j, dimension));
    sum += best;
  }
  return sum / (question.length / dimension);
}
