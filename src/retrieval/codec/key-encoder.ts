/** Codes token keys with a codebook (codec.ts has the form of a code). */

import { type Codebook, centroidBytes, decodeKeys, ENTRIES, partStarts } from "./codec.ts";
import { type NearestFinder, openNearestFinder } from "./nearest.ts";
import { openRotation } from "./opq-rotation.ts";

/** Ratios that leave what is decoded as long as centroid and residual are. */
export const NO_RATIOS: Float32Array = new Float32Array(ENTRIES).fill(1);

export interface KeyEncoder extends AsyncDisposable {
  /** The codes of keys [n, dimension]. */
  encode(keys: Float32Array): Promise<Uint8Array>;
}

export async function openEncoder(codebook: Codebook): Promise<KeyEncoder> {
  const { dimension, axes, centroids, parts, tables, ratios } = codebook;
  const idBytes = centroidBytes(codebook);
  const rotation = await openRotation(axes, dimension);
  const finders = new Map<number, NearestFinder>();
  const findNearest = async (
    rows: Float32Array,
    table: Float32Array,
    size: number,
  ): Promise<Uint32Array> => {
    if (!finders.has(size)) finders.set(size, await openNearestFinder(size));
    return finders.get(size)!.nearest(rows, table);
  };
  return {
    async encode(keys) {
      const rotated = await rotation.rotate(keys); // [n, dimension]
      const nearest = await findNearest(rotated, centroids, dimension);
      const left = subtractCentroids(rotated, nearest, centroids, dimension);
      const { codes, starts } = startCodes(nearest, parts, idBytes);
      for (const [count, table] of tables) {
        const rows = Array.from(nearest.keys()).filter((row) => parts[nearest[row]!] === count);
        const cuts = partStarts(dimension, count);
        for (let part = 0; part < count; part++) {
          const [first, end] = [cuts[part]!, cuts[part + 1]!];
          const columns = columnsOf(left, rows, dimension, first, end);
          const entries = table.subarray(ENTRIES * first, ENTRIES * end);
          for (const [i, entry] of (await findNearest(columns, entries, end - first)).entries())
            codes[starts[rows[i]!]! + idBytes + 1 + part] = entry;
        }
      }
      const wanted = lengthRatios(rotated, decodeKeys(codes, codebook, NO_RATIOS), dimension);
      for (const [row, entry] of (await findNearest(wanted, ratios, 1)).entries())
        codes[starts[row]! + idBytes] = entry;
      return codes;
    },
    async [Symbol.asyncDispose]() {
      await rotation[Symbol.asyncDispose]();
      for (const finder of finders.values()) await finder[Symbol.asyncDispose]();
    },
  };
}

/** Codes with nothing but their centroids, and where each starts. */
function startCodes(
  nearest: Uint32Array,
  parts: Uint8Array,
  idBytes: number,
): { codes: Uint8Array; starts: Uint32Array } {
  const starts = new Uint32Array(nearest.length + 1);
  for (const [row, centroid] of nearest.entries())
    starts[row + 1] = starts[row]! + idBytes + 1 + parts[centroid]!;
  const codes = new Uint8Array(starts.at(-1)!);
  for (const [row, centroid] of nearest.entries())
    for (let b = 0; b < idBytes; b++) codes[starts[row]! + b] = centroid >>> (8 * b);
  return { codes, starts };
}

/** What the nearest centroids leave of rows [n, dimension]. */
export function subtractCentroids(
  rows: Float32Array,
  nearest: Uint32Array,
  centroids: Float32Array,
  dimension: number,
): Float32Array {
  return rows.map((value, i) => {
    const d = i % dimension;
    return value - centroids[nearest[(i - d) / dimension]! * dimension + d]!;
  });
}

/** Columns `first` to `end` of some rows of [n, size]. */
export function columnsOf(
  values: Float32Array,
  rows: readonly number[],
  size: number,
  first: number,
  end: number,
): Float32Array {
  const columns = new Float32Array(rows.length * (end - first));
  for (const [i, row] of rows.entries())
    columns.set(values.subarray(row * size + first, row * size + end), i * (end - first));
  return columns;
}

/** By how much each row of `decoded`, [n, dimension], must be longer to be as long as that of `keys`: [n]. */
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
