/** Encodes token keys with a codebook. codec.ts defines the form of a code. */

import { CODEWORDS, type Codebook, centroidBytes, subquantiserStarts } from "./codec.ts";
import { openKeyDecoder } from "./key-decoder.ts";
import { type FindNearest, openNearestFinder } from "./nearest.ts";
import { openCodewordSearch } from "./nearest-codeword.ts";
import { openRotator } from "./opq-rotation.ts";

/** Length ratios that leave decoded keys as they are. */
export const UNIT_RATIOS: Float32Array = new Float32Array(CODEWORDS).fill(1);

export interface KeyEncoder extends AsyncDisposable {
  /** Encodes keys, [n, dimension], that are not rotated. */
  encode(keys: Float32Array): Promise<Uint8Array>;
}

export async function openKeyEncoder(codebook: Codebook): Promise<KeyEncoder> {
  const { dimension, rotation, centroids, subquantisers, ratios } = codebook;
  const idBytes = centroidBytes(codebook);
  const rotator = await openRotator(rotation, dimension);
  const finder = await openNearestFinder(dimension);
  const findCodeword = openCodewordSearch();
  const decode = openKeyDecoder({ ...codebook, ratios: UNIT_RATIOS });
  return {
    async encode(keys) {
      const rotated = await rotator.rotate(keys); // [n, dimension]
      const nearest = await finder.nearest(rotated, centroids, dimension);
      const residuals = subtractCentroids(rotated, nearest, centroids, dimension);
      const { codes, starts } = startCodes(nearest, subquantisers, idBytes);
      const firstBytes = starts.map((start) => start + idBytes + 1);
      await encodeResiduals(codes, firstBytes, residuals, nearest, codebook, findCodeword);
      const wanted = lengthRatios(rotated, decode(codes), dimension);
      for (const [row, ratio] of (await findCodeword(wanted, ratios, 1)).entries())
        codes[starts[row]! + idBytes] = ratio;
      return codes;
    },
    async [Symbol.asyncDispose]() {
      await rotator[Symbol.asyncDispose]();
      await finder[Symbol.asyncDispose]();
    },
  };
}

/** Writes the codeword of each subspace of each residual, [n, dimension]. */
async function encodeResiduals(
  codes: Uint8Array,
  firstBytes: Uint32Array,
  residuals: Float32Array,
  nearest: Uint32Array,
  { dimension, subquantisers, codewords }: Codebook,
  findCodeword: FindNearest,
): Promise<void> {
  for (const [count, table] of codewords) {
    const rows = Array.from(nearest.keys()).filter((row) => subquantisers[nearest[row]!] === count);
    const bounds = subquantiserStarts(dimension, count);
    for (let subspace = 0; subspace < count; subspace++) {
      const [first, end] = [bounds[subspace]!, bounds[subspace + 1]!];
      const columns = columnsOf(residuals, rows, dimension, first, end);
      const words = table.subarray(CODEWORDS * first, CODEWORDS * end);
      for (const [i, codeword] of (await findCodeword(columns, words, end - first)).entries())
        codes[firstBytes[rows[i]!]! + subspace] = codeword;
    }
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

/** Subtracts from each row, [n, dimension], its nearest centroid. */
export function subtractCentroids(
  rows: Float32Array,
  nearest: Uint32Array,
  centroids: Float32Array,
  dimension: number,
): Float32Array {
  const residuals = new Float32Array(rows.length);
  for (const [row, centroid] of nearest.entries())
    for (let d = 0, at = row * dimension, from = centroid * dimension; d < dimension; d++, at++)
      residuals[at] = rows[at]! - centroids[from + d]!;
  return residuals;
}

/** Columns `first` to `end` of the given rows of [n, size]. */
export function columnsOf(
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
