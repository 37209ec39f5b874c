/** k-means clustering. Source: Lloyd, Least squares quantization in PCM, 1982. */

import type { FindNearest } from "./nearest.ts";

const ITERATIONS = 8;

/** Iterations at the end that see the whole sample. Those before see every fourth row of it. */
const WHOLE_ITERATIONS = 2;
const STEP = 4;

/** The least number of rows of a part for each centroid. */
const ROWS_PER_CENTROID = 8;

/**
 * Clusters the rows of `sample`, [n, size] with n >= count, and returns the centroids,
 * [count, size].
 *
 * The initial centroids are rows at equal distances in the sample, so the result depends on the
 * sample alone. A centroid without members moves to another row.
 */
export async function kMeans(
  sample: Float32Array,
  size: number,
  count: number,
  findNearest: FindNearest,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const rows = sample.length / size;
  const evenlySpaced = (c: number) =>
    sample.subarray(Math.floor((c * rows) / count) * size).subarray(0, size);
  const part = rows >= STEP * ROWS_PER_CENTROID * count ? everyFourth(sample, size) : sample;
  const centroids = new Float32Array(count * size);
  for (let c = 0; c < count; c++) centroids.set(evenlySpaced(c), c * size);
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    signal?.throwIfAborted();
    const seen = iteration < ITERATIONS - WHOLE_ITERATIONS ? part : sample;
    const nearest = await findNearest(seen, centroids, size);
    const { sums, members } = sumMembers(seen, size, nearest, count);
    for (let c = 0; c < count; c++)
      if (members[c] === 0) centroids.set(evenlySpaced((c + iteration + 0.5) % count), c * size);
      else
        for (let d = 0; d < size; d++) centroids[c * size + d] = sums[c * size + d]! / members[c]!;
  }
  return centroids;
}

function everyFourth(sample: Float32Array, size: number): Float32Array {
  const part = new Float32Array(Math.ceil(sample.length / size / STEP) * size);
  for (let to = 0, from = 0; from < sample.length; to += size, from += STEP * size)
    part.set(sample.subarray(from, from + size), to);
  return part;
}

function sumMembers(
  sample: Float32Array,
  size: number,
  nearest: Uint32Array,
  count: number,
): { sums: Float64Array; members: Uint32Array } {
  const sums = new Float64Array(count * size);
  const members = new Uint32Array(count);
  for (const [row, c] of nearest.entries()) {
    members[c]!++;
    for (let d = 0; d < size; d++) sums[c * size + d]! += sample[row * size + d]!;
  }
  return { sums, members };
}
