/** The retrieval score. Source: Retrieval as Attention (ReAtt), Eq. 1. */

/**
 * How well a passage answers a question: the average over question tokens of the best match among passage tokens,
 *
 *     score = (1/n) * sum_i max_j q_i . k_j
 *
 * where q is `question` [n, dimension], k is `passage` [tokens, dimension], and the product is raw: no normalisation,
 * no scaling. MatMul are summed in float64, so the score of a pair is the same number whoever computes it.
 */
export function avgMax(question: Float32Array, passage: Float32Array, dimension: number): number {
  let sum = 0;
  for (let i = 0; i < question.length; i += dimension) {
    let best = -Infinity;
    for (let j = 0; j < passage.length; j += dimension)
      best = Math.max(best, dotProduct(question, i, passage, j, dimension));
    sum += best;
  }
  return sum / (question.length / dimension);
}

/** The product of `size` numbers of `a` from `i` on with those of `b` from `j` on, summed in float64 from first to last. */
export function dotProduct(
  a: Float32Array,
  i: number,
  b: Float32Array,
  j: number,
  size: number,
): number {
  let sum = 0;
  for (let d = 0; d < size; d++) sum += a[i + d]! * b[j + d]!;
  return sum;
}

/** The greatest Euclidean length of a row of [rows, size]. */
export function longestRow(rows: Float32Array, size: number): number {
  let longest = 0;
  for (let start = 0; start < rows.length; start += size) {
    let square = 0;
    for (let i = start; i < start + size; i++) square += rows[i]! * rows[i]!;
    if (!(square <= longest)) longest = square; // also where it is not a number
  }
  return Math.sqrt(longest);
}
