/** Learns a codebook (codec.ts) from a sample of keys. */

import {
  type Bits,
  CODEWORDS,
  type Codebook,
  subquantiserCounts,
  subquantiserStarts,
} from "./codec.ts";
import { openKeyDecoder } from "./key-decoder.ts";
import { lengthRatios, openKeyEncoder, subtractCentroids, UNIT_RATIOS } from "./key-encoder.ts";
import { BATCH_ROWS, batches, kMeans } from "./kmeans.ts";
import { type OpenNearest, openNearestFinder } from "./nearest.ts";
import { openCodewordSearch } from "./nearest-codeword.ts";
import { learnRotation, openRotator, rotate } from "./opq-rotation.ts";
import { type Sample, spreadRows } from "./sample.ts";

/** Keys from which rotation, codewords and ratios are learned: 128 for each codeword. */
const TRAINING_ROWS = 32_768;

/** The number of keys from which the codebook of an index with `tokens` keys is learned. */
export const sampleSize = (tokens: number): number => Math.min(tokens, 32 * centroidCount(tokens));

/**
 * The number of centroids: 4 sqrt(tokens), rounded to a power of 2. With this number, scoring the
 * centroids costs less than scoring the candidates, and the lists are short enough to be read
 * whole.
 */
export const centroidCount = (tokens: number): number =>
  2 ** Math.round(Math.log2(Math.max(1, Math.min(4 * Math.sqrt(tokens), tokens / 8))));

/** Learns a codebook with `count` centroids from a sample of at least as many keys. */
export async function trainCodebook(
  sample: Sample,
  dimension: number,
  count: number,
  bits: Bits,
  signal?: AbortSignal,
): Promise<Codebook> {
  const clusters = await cluster(sample, dimension, count, signal);
  const { long, short } = subquantiserCounts(dimension, bits);
  const { centroids, keys, nearest } = clusters;
  const subquantisers = chooseSubquantisers(clusters, long, short);
  const residuals = new Float32Array(keys.length);
  subtractCentroids(keys, Array.from(nearest.keys()), nearest, { centroids, dimension }, residuals);
  const rotation = await learnRotation(residuals, dimension, long);
  await rotateInPlace(residuals, rotation, dimension);
  const openNearest = openCodewordSearch();
  const codewords = new Map<number, Float32Array>();
  for (const m of new Set([long, short])) {
    const rows = Array.from(nearest.keys()).filter((i) => subquantisers[nearest[i]!] === m);
    codewords.set(m, await trainCodewords(residuals, rows, dimension, m, openNearest, signal));
  }
  const codebook = {
    bits,
    dimension,
    rotation,
    centroids: rotate(centroids, rotation, dimension),
    subquantisers,
    codewords,
  };
  return {
    ...codebook,
    ratios: await trainRatios(keys, { ...codebook, ratios: UNIT_RATIOS }, openNearest, signal),
  };
}

interface Clusters {
  /** [count, dimension] */
  readonly centroids: Float32Array;
  /** The number of keys of each centroid, and the sum of the squares of their residuals: [count] */
  readonly members: Uint32Array;
  readonly squares: Float64Array;
  /** At most `TRAINING_ROWS` keys at equal distances in the sample: [n, dimension]. */
  readonly keys: Float32Array;
  /** The centroid of each of them: [n] */
  readonly nearest: Uint32Array;
}

async function cluster(
  sample: Sample,
  dimension: number,
  count: number,
  signal: AbortSignal | undefined,
): Promise<Clusters> {
  await using finder = await openNearestFinder(dimension);
  const centroids = await kMeans(sample, dimension, count, finder.open, signal);
  const nearestOf = finder.open(centroids, dimension);
  const chosen = Math.min(sample.rows, TRAINING_ROWS);
  const clusters = {
    centroids,
    members: new Uint32Array(count),
    squares: new Float64Array(count),
    keys: new Float32Array(chosen * dimension),
    nearest: new Uint32Array(chosen),
  };
  let [row, next] = [0, 0]; // of the sample, and of the keys
  for await (const batch of batches(sample, sample.rows, signal)) {
    const nearest = await nearestOf(batch);
    for (let i = 0; i < nearest.length; i++, row++) {
      const key = batch.subarray(i * dimension, (i + 1) * dimension);
      const centroid = nearest[i]!;
      clusters.members[centroid]!++;
      clusters.squares[centroid]! += squaredDistance(key, centroids, centroid * dimension);
      if (row !== Math.floor((next * sample.rows) / chosen)) continue;
      clusters.keys.set(key, next * dimension);
      clusters.nearest[next++] = centroid;
    }
  }
  return clusters;
}

function squaredDistance(key: Float32Array, centroids: Float32Array, start: number): number {
  let sum = 0;
  for (let d = 0; d < key.length; d++) {
    const difference = key[d]! - centroids[start + d]!;
    sum += difference * difference;
  }
  return sum;
}

/**
 * The number of subquantisers of each centroid: `long` for the centroids with the longest residuals
 * that cover half of the tokens, `short` for the others.
 */
function chooseSubquantisers(
  { members, squares }: Clusters,
  long: number,
  short: number,
): Uint16Array {
  const means = squares.map((square, centroid) => square / Math.max(1, members[centroid]!));
  const longestFirst = Array.from(means.keys()).sort((a, b) => means[b]! - means[a]!);
  const all = members.reduce((sum, count) => sum + count, 0);
  const subquantisers = new Uint16Array(members.length).fill(short);
  let tokens = 0;
  for (const centroid of longestFirst) {
    if (2 * tokens >= all) break;
    subquantisers[centroid] = long;
    tokens += members[centroid]!;
  }
  return subquantisers;
}

/**
 * Learns the codewords of each subspace by k-means, from the given rows of `residuals`,
 * [n, dimension].
 */
async function trainCodewords(
  residuals: Float32Array,
  rows: readonly number[],
  dimension: number,
  subquantisers: number,
  openNearest: OpenNearest,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const table = new Float32Array(CODEWORDS * dimension);
  if (rows.length === 0) return table;
  const starts = subquantiserStarts(dimension, subquantisers);
  for (let subspace = 0; subspace < subquantisers; subspace++) {
    const [first, end] = [starts[subspace]!, starts[subspace + 1]!];
    const columns = columnsOf(residuals, rows, dimension, first, end);
    const sample = repeated(columns, end - first);
    table.set(await kMeans(sample, end - first, CODEWORDS, openNearest, signal), CODEWORDS * first);
  }
  return table;
}

/** The given columns `first` to `end` of rows of [n, size]. */
function columnsOf(
  values: Float32Array,
  rows: readonly number[],
  size: number,
  first: number,
  end: number,
): Float32Array {
  const columns = new Float32Array(rows.length * (end - first));
  let next = 0;
  for (let i = 0; i < rows.length; i++) {
    const start = rows[i]! * size;
    for (let d = first; d < end; d++) columns[next++] = values[start + d]!;
  }
  return columns;
}

/** Rotates rows, [n, dimension]. */
async function rotateInPlace(
  rows: Float32Array,
  rotation: Float32Array,
  dimension: number,
): Promise<void> {
  await using rotator = await openRotator(rotation, dimension);
  for (let at = 0; at < rows.length; at += BATCH_ROWS * dimension)
    rows.set(await rotator.rotate(rows.subarray(at, at + BATCH_ROWS * dimension)), at);
}

async function trainRatios(
  keys: Float32Array,
  codebook: Codebook,
  openNearest: OpenNearest,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const { dimension } = codebook;
  await using encoder = await openKeyEncoder(codebook);
  const decode = openKeyDecoder(codebook);
  const ratios = new Float32Array(keys.length / dimension);
  for (let first = 0; first < ratios.length; first += BATCH_ROWS) {
    signal?.throwIfAborted();
    const batch = keys.subarray(first * dimension, (first + BATCH_ROWS) * dimension);
    ratios.set(lengthRatios(batch, decode(await encoder.encode(batch)), dimension), first);
  }
  return await kMeans(repeated(ratios, 1), 1, CODEWORDS, openNearest, signal);
}

/** Repeats a small sample: k-means needs a row for each of its 256 centroids. */
function repeated(rows: Float32Array, width: number): Sample {
  const needed = CODEWORDS * width;
  if (rows.length >= needed) return spreadRows(rows, width);
  const values = Float32Array.from({ length: needed }, (_, i) => rows[i % rows.length]!);
  return spreadRows(values, width);
}
