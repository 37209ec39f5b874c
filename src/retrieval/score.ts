/** The retrieval score. Source: Retrieval as Attention (ReAtt), Eq. 1. */

/**
 * How well a passage answers a question: the average over question tokens of the best match among passage tokens,
 *
 *     score = (1/n) * sum_i max_j q_i . k_j
 *
 * where q is `question` [n, dimension], k is `passage` [tokens, dimension], and the product is raw: no normalisation,
 * no scaling. Products are summed in float64, so the score of a pair is the same number whoever computes it.
 */
export function avgMax(question: Float32Array, passage: Float32Array, dimension: number): number {
  let sum = 0;
  for (let i = 0; i < question.length; i += dimension) {
    let best = -Infinity;
    for (let j = 0; j < passage.length; j += dimension) {
      const product = dot(question, i, passage, j, dimension);
      if (product > best) best = product;
    }
    sum += best;
  }
  return (sum * dimension) / question.length;
}

/** Four sums side by side: one alone would wait for each addition, and take three times as long. */
function dot(a: Float32Array, i: number, b: Float32Array, j: number, size: number): number {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let d = 0;
  for (; d + 3 < size; d += 4) {
    s0 += a[i + d]! * b[j + d]!;
    s1 += a[i + d + 1]! * b[j + d + 1]!;
    s2 += a[i + d + 2]! * b[j + d + 2]!;
    s3 += a[i + d + 3]! * b[j + d + 3]!;
  }
  for (; d < size; d++) s0 += a[i + d]! * b[j + d]!;
  return s0 + s1 + (s2 + s3);
}
