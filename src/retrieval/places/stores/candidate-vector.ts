/**
 * One vector for the many of a passage or a question, for a store that compares single vectors:
 *
 *     passage:   mean_j k_j / |mean_j k_j|
 *     question:  mean_i q_i
 *
 * The product of both is the mean over all pairs of tokens, where the retrieval score is the mean
 * over the best pairs. It only chooses candidates. docs/SCALE.md has how many of the best passages
 * are among them.
 */

/** The mean of the rows of [rows, dimension]. */
export function meanRow(rows: Float32Array, dimension: number): Float32Array {
  const sums = new Float64Array(dimension);
  for (let at = 0; at < rows.length; at++) sums[at % dimension]! += rows[at]!;
  const count = rows.length / dimension;
  return Float32Array.from(sums, (sum) => sum / count);
}

/** The mean of the keys of a passage at length 1; a mean of 0 stays 0. */
export function passageVector(keys: Float32Array, dimension: number): Float32Array {
  const mean = meanRow(keys, dimension);
  const length = Math.hypot(...mean);
  return length > 0 ? mean.map((value) => value / length) : mean;
}
