/**
 * Keys that a codebook is learned from. k-means sees only the first quarter of them most of the
 * time, so every fourth key of an index comes first.
 */

/** Rows of one size, in memory or in a file. The first quarter is spread over all of them. */
export interface Sample {
  readonly rows: number;
  /** At most `count` rows from row `first` on, flat. The next call can overwrite them. */
  read(first: number, count: number): Float32Array | Promise<Float32Array>;
}

/** One of this number of keys is in the first part of a sample. */
const STEP = 4;

/** The rows of the first part of a sample. */
export const partRows = (rows: number): number => Math.ceil(rows / STEP);

/** Keys that are taken in turn for the first part of a sample and for the rest. */
export function divideSample(
  keys: Float32Array,
  size: number,
  first: number,
): { part: Float32Array; rest: Float32Array } {
  const rows = keys.length / size;
  const before = partRows(first); // of the part
  const count = partRows(first + rows) - before;
  const part = new Float32Array(count * size);
  const rest = new Float32Array(keys.length - part.length);
  let [toPart, toRest] = [0, 0];
  for (let row = 0; row < rows; row++) {
    const values = keys.subarray(row * size, (row + 1) * size);
    if ((first + row) % STEP === 0) {
      part.set(values, toPart);
      toPart += size;
    } else {
      rest.set(values, toRest);
      toRest += size;
    }
  }
  return { part, rest };
}

/** Rows in memory, [n, size], whose first quarter is spread over all of them. */
export const spreadRows = (rows: Float32Array, size: number): Sample => ({
  rows: rows.length / size,
  read: (first, count) => rows.subarray(first * size, (first + count) * size),
});

/** The sample of keys in memory, [n, size], in the order of an index. */
export function sampleOf(keys: Float32Array, size: number): Sample {
  const { part, rest } = divideSample(keys, size, 0);
  const rows = new Float32Array(keys.length);
  rows.set(part);
  rows.set(rest, part.length);
  return spreadRows(rows, size);
}
