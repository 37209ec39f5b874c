/** k-means clustering. Source: Lloyd, Least squares quantization in PCM, 1982. */

import type { OpenNearest } from "./nearest.ts";
import { partRows, type Sample } from "./sample.ts";

const ITERATIONS = 8;

/** Iterations at the end that see the whole sample. Those before see its first quarter. */
const WHOLE_ITERATIONS = 2;

/** The least number of rows of a part for each centroid. */
const ROWS_PER_CENTROID = 8;

/** Rows that are compared together, so that memory does not grow with the sample. */
export const BATCH_ROWS = 4_096;

/**
 * Clusters the rows of `sample`, of `size` values, and returns the centroids, [count, size]. The
 * sample has at least `count` rows.
 *
 * The initial centroids are rows at equal distances in its first quarter, so the result depends on
 * the sample alone. A centroid without members moves to another row.
 */
export async function kMeans(
  sample: Sample,
  size: number,
  count: number,
  openNearest: OpenNearest,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const { rows } = sample;
  const part = partRows(rows);
  const spread = part < count ? rows : part;
  const evenlySpaced = (c: number) => sample.read(Math.floor((c * spread) / count), 1);
  const centroids = new Float32Array(count * size);
  for (let c = 0; c < count; c++) centroids.set(await evenlySpaced(c), c * size);
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    const isWhole = iteration >= ITERATIONS - WHOLE_ITERATIONS || part < ROWS_PER_CENTROID * count;
    const nearest = openNearest(centroids, size);
    const sums = new Float64Array(count * size);
    const members = new Uint32Array(count);
    for await (const batch of batches(sample, isWhole ? rows : part, signal))
      addMembers(sums, members, batch, size, await nearest(batch));
    for (let c = 0; c < count; c++)
      if (members[c] === 0)
        centroids.set(await evenlySpaced((c + iteration + 0.5) % count), c * size);
      else
        for (let at = c * size; at < (c + 1) * size; at++) centroids[at] = sums[at]! / members[c]!;
  }
  return centroids;
}

/** The first `rows` rows of a sample. */
export async function* batches(
  sample: Sample,
  rows: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Float32Array> {
  for (let first = 0; first < rows; first += BATCH_ROWS) {
    signal?.throwIfAborted();
    yield sample.read(first, Math.min(BATCH_ROWS, rows - first));
  }
}

function addMembers(
  sums: Float64Array,
  members: Uint32Array,
  rows: Float32Array,
  size: number,
  nearest: Uint32Array,
): void {
  for (let row = 0, from = 0; row < nearest.length; row++) {
    const c = nearest[row]!;
    members[c]!++;
    for (let to = c * size; to < (c + 1) * size; to++, from++) sums[to]! += rows[from]!;
  }
}
