/** Learns a codebook (codec.ts) from a sample of keys. */

import {
  type Bits,
  CODEWORDS,
  type Codebook,
  subquantiserCounts,
  subquantiserStarts,
} from "./codec.ts";
import { openKeyDecoder } from "./key-decoder.ts";
import {
  columnsOf,
  lengthRatios,
  openKeyEncoder,
  subtractCentroids,
  UNIT_RATIOS,
} from "./key-encoder.ts";
import { kMeans } from "./kmeans.ts";
import { type FindNearest, openNearestFinder } from "./nearest.ts";
import { openCodewordSearch } from "./nearest-codeword.ts";
import { learnRotation, openRotator, rotate } from "./opq-rotation.ts";

/** Keys from which rotation, codewords and ratios are learned: 256 for each codeword. */
const TRAINING_ROWS = 65_536;

/** The number of keys from which the codebook of an index with `tokens` keys is learned. */
export const sampleSize = (tokens: number): number => Math.min(tokens, 32 * centroidCount(tokens));

/**
 * The number of centroids: 4 sqrt(tokens), rounded to a power of 2. With this number, scoring the
 * centroids costs less than scoring the candidates, and the lists are short enough to be read
 * whole.
 */
export const centroidCount = (tokens: number): number =>
  2 ** Math.round(Math.log2(Math.max(1, Math.min(4 * Math.sqrt(tokens), tokens / 8))));

/** Rows that are rotated or encoded together, so that memory does not grow with the sample. */
const BATCH_ROWS = 4_096;

/** Learns a codebook with `count` centroids from `sample`, [n, dimension], with n >= count. */
export async function trainCodebook(
  sample: Float32Array,
  dimension: number,
  count: number,
  bits: Bits,
  signal?: AbortSignal,
): Promise<Codebook> {
  const { centroids, nearest } = await cluster(sample, dimension, count, signal);
  const { long, short } = subquantiserCounts(dimension, bits);
  const subquantisers = chooseSubquantisers(sample, nearest, centroids, long, short);
  const chosen = evenlySpaced(nearest.length);
  const keys = rowsOf(sample, chosen, dimension);
  const nearestOfChosen = Uint32Array.from(chosen, (row) => nearest[row]!);
  const residuals = subtractCentroids(keys, nearestOfChosen, centroids, dimension);
  const rotation = await learnRotation(residuals, dimension, long);
  await rotateInPlace(residuals, rotation, dimension);
  const findCodeword = openCodewordSearch();
  const codewords = new Map<number, Float32Array>();
  for (const m of new Set([long, short])) {
    const rows = Array.from(chosen.keys()).filter((i) => subquantisers[nearestOfChosen[i]!] === m);
    codewords.set(m, await trainCodewords(residuals, rows, dimension, m, findCodeword, signal));
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
    ratios: await trainRatios(keys, { ...codebook, ratios: UNIT_RATIOS }, findCodeword, signal),
  };
}

/** The centroids of `sample`, [count, dimension], and the nearest of each row. */
async function cluster(
  sample: Float32Array,
  dimension: number,
  count: number,
  signal: AbortSignal | undefined,
): Promise<{ centroids: Float32Array; nearest: Uint32Array }> {
  await using finder = await openNearestFinder(dimension);
  const centroids = await kMeans(sample, dimension, count, finder.nearest, signal);
  return { centroids, nearest: await finder.nearest(sample, centroids, dimension) };
}

/**
 * The number of subquantisers of each centroid: `long` for the centroids with the longest residuals
 * that cover half of the tokens, `short` for the others.
 */
function chooseSubquantisers(
  sample: Float32Array,
  nearest: Uint32Array,
  centroids: Float32Array,
  long: number,
  short: number,
): Uint16Array {
  const dimension = sample.length / nearest.length;
  const count = centroids.length / dimension;
  const members = new Uint32Array(count);
  const squares = new Float64Array(count);
  for (const [row, centroid] of nearest.entries()) {
    members[centroid]!++;
    for (let d = 0; d < dimension; d++) {
      const difference = sample[row * dimension + d]! - centroids[centroid * dimension + d]!;
      squares[centroid]! += Math.fround(difference) ** 2;
    }
  }
  const means = squares.map((square, centroid) => square / Math.max(1, members[centroid]!));
  const longestFirst = Array.from(means.keys()).sort((a, b) => means[b]! - means[a]!);
  const subquantisers = new Uint16Array(count).fill(short);
  let tokens = 0;
  for (const centroid of longestFirst) {
    if (2 * tokens >= nearest.length) break;
    subquantisers[centroid] = long;
    tokens += members[centroid]!;
  }
  return subquantisers;
}

/** At most `TRAINING_ROWS` row numbers, at equal distances. */
const evenlySpaced = (count: number): number[] =>
  Array.from({ length: Math.min(count, TRAINING_ROWS) }, (_, i) =>
    Math.floor((i * count) / Math.min(count, TRAINING_ROWS)),
  );

/**
 * Learns the codewords of each subspace by k-means, from the given rows of `residuals`,
 * [n, dimension].
 */
async function trainCodewords(
  residuals: Float32Array,
  rows: readonly number[],
  dimension: number,
  subquantisers: number,
  findCodeword: FindNearest,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const table = new Float32Array(CODEWORDS * dimension);
  if (rows.length === 0) return table;
  const starts = subquantiserStarts(dimension, subquantisers);
  for (let subspace = 0; subspace < subquantisers; subspace++) {
    const [first, end] = [starts[subspace]!, starts[subspace + 1]!];
    const columns = repeated(columnsOf(residuals, rows, dimension, first, end), end - first);
    const words = await kMeans(columns, end - first, CODEWORDS, findCodeword, signal);
    table.set(words, CODEWORDS * first);
  }
  return table;
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

/** The given rows of [n, size]; all rows are not copied. */
function rowsOf(values: Float32Array, rows: readonly number[], size: number): Float32Array {
  return rows.length * size === values.length ? values : columnsOf(values, rows, size, 0, size);
}

async function trainRatios(
  keys: Float32Array,
  codebook: Codebook,
  findCodeword: FindNearest,
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
  return await kMeans(repeated(ratios, 1), 1, CODEWORDS, findCodeword, signal);
}

/** Repeats a small sample: k-means needs a row for each of its 256 centroids. */
function repeated(rows: Float32Array, width: number): Float32Array {
  const needed = CODEWORDS * width;
  if (rows.length >= needed) return rows;
  return Float32Array.from({ length: needed }, (_, i) => rows[i % rows.length]!);
}
