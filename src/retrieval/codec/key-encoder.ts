/** Encodes token keys with a codebook. codec.ts defines the form of a code. */

import { CODEWORDS, type Codebook, centroidBytes } from "./codec.ts";
import { openKeyDecoder } from "./key-decoder.ts";
import { openNearestFinder } from "./nearest.ts";
import { openCodewordSearch, openResidualCoder } from "./nearest-codeword.ts";
import { openRotator } from "./opq-rotation.ts";

/** Keys that are coded together: their values stay in a cache. */
const BATCH_ROWS = 1_024;

/** Length ratios that leave decoded keys as they are. */
export const UNIT_RATIOS: Float32Array = new Float32Array(CODEWORDS).fill(1);

export interface KeyEncoder extends AsyncDisposable {
  /** Encodes keys, [n, dimension], that are not rotated. One call at a time. */
  encode(keys: Float32Array): Promise<Uint8Array>;
}

export async function openKeyEncoder(codebook: Codebook): Promise<KeyEncoder> {
  const { dimension, centroids, subquantisers, ratios } = codebook;
  const idBytes = centroidBytes(codebook);
  const rotator = await openRotator(codebook.rotation, dimension);
  const finder = await openNearestFinder(dimension);
  const nearestCentroids = finder.open(centroids, dimension);
  const codeResiduals = openResidualCoder(codebook);
  const nearestRatios = openCodewordSearch()(ratios, 1);
  const decode = openKeyDecoder({ ...codebook, ratios: UNIT_RATIOS });
  /** Used again by each batch: the garbage collector is slow with arrays of this size. */
  const [rotatedRows, residuals, decoded] = [0, 1, 2].map(
    () => new Float32Array(BATCH_ROWS * dimension),
  ) as [Float32Array, Float32Array, Float32Array];
  const encodeBatch = async (keys: Float32Array): Promise<Uint8Array> => {
    const rotated = await rotator.rotate(keys, rotatedRows.subarray(0, keys.length));
    const nearest = await nearestCentroids(rotated);
    const { codes, starts } = startCodes(nearest, subquantisers, idBytes);
    for (const count of codebook.codewords.keys()) {
      const rows = rowsWith(count, nearest, subquantisers);
      subtractCentroids(rotated, rows, nearest, codebook, residuals);
      const coded = codeResiduals(residuals.subarray(0, rows.length * dimension), count);
      for (let i = 0; i < rows.length; i++)
        codes.set(coded.subarray(i * count, (i + 1) * count), starts[rows[i]!]! + idBytes + 1);
    }
    const lengths = decode(codes, (values) => decoded.subarray(0, values));
    const found = await nearestRatios(lengthRatios(rotated, lengths, dimension));
    for (let row = 0; row < found.length; row++) codes[starts[row]! + idBytes] = found[row]!;
    return codes;
  };
  return {
    async encode(keys) {
      const codes = [];
      for (let at = 0; at < keys.length; at += BATCH_ROWS * dimension)
        codes.push(await encodeBatch(keys.subarray(at, at + BATCH_ROWS * dimension)));
      const { buffer, byteOffset, length } = Buffer.concat(codes);
      return new Uint8Array(buffer, byteOffset, length);
    },
    async [Symbol.asyncDispose]() {
      await rotator[Symbol.asyncDispose]();
      await finder[Symbol.asyncDispose]();
    },
  };
}

/** The rows whose centroids have `count` subquantisers. */
function rowsWith(count: number, nearest: Uint32Array, subquantisers: Uint16Array): Uint32Array {
  const rows = new Uint32Array(nearest.length);
  let found = 0;
  for (let row = 0; row < nearest.length; row++)
    if (subquantisers[nearest[row]!] === count) rows[found++] = row;
  return rows.subarray(0, found);
}

/** Writes the given rows of `values`, [n, dimension], without the centroid of each, to `into`. */
export function subtractCentroids(
  values: Float32Array,
  rows: ArrayLike<number>,
  nearest: Uint32Array,
  { centroids, dimension }: Pick<Codebook, "centroids" | "dimension">,
  into: Float32Array,
): void {
  for (let i = 0, to = 0; i < rows.length; i++) {
    const row = rows[i]! * dimension;
    const centroid = nearest[rows[i]!]! * dimension;
    for (let d = 0; d < dimension; d++) into[to++] = values[row + d]! - centroids[centroid + d]!;
  }
}

/** Creates codes with their centroids set and everything else 0, and the start of each code. */
function startCodes(
  nearest: Uint32Array,
  subquantisers: Uint16Array,
  idBytes: number,
): { codes: Uint8Array; starts: Uint32Array } {
  const starts = new Uint32Array(nearest.length + 1);
  for (const [row, centroid] of nearest.entries())
    starts[row + 1] = starts[row]! + idBytes + 1 + subquantisers[centroid]!;
  const codes = new Uint8Array(starts.at(-1)!);
  for (const [row, centroid] of nearest.entries())
    for (let b = 0; b < idBytes; b++) codes[starts[row]! + b] = centroid >>> (8 * b);
  return { codes, starts };
}

/**
 * The ratio of the length of each key to that of the decoded key, [n]. Both inputs are
 * [n, dimension].
 */
export function lengthRatios(
  keys: Float32Array,
  decoded: Float32Array,
  dimension: number,
): Float32Array {
  return Float32Array.from({ length: keys.length / dimension }, (_, row) => {
    let [wanted, got] = [0, 0];
    for (let i = row * dimension; i < (row + 1) * dimension; i++) {
      wanted += keys[i]! * keys[i]!;
      got += decoded[i]! * decoded[i]!;
    }
    return got === 0 ? 1 : Math.sqrt(wanted / got);
  });
}
