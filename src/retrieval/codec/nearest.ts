/**
 * Nearest-neighbour search in a table of vectors of the size of a key, on onnxruntime. Short
 * vectors: nearest-codeword.ts.
 */

import { compile } from "../../tensor/session.ts";
import { trace } from "../../tensor/trace.ts";

/**
 * Rows of the table in a group. onnxruntime returns the maximum of each group; the rows of the best
 * group are compared here.
 */
const GROUP = 16;
/** Products in memory at a time: 16 MB. */
const PRODUCTS = 2 ** 22;

/**
 * For each row of `rows`, [n, size], the number of the nearest row of `table`, [count, size], by
 * Euclidean distance.
 */
export type FindNearest = (
  rows: Float32Array,
  table: Float32Array,
  size: number,
) => Uint32Array | Promise<Uint32Array>;

export interface NearestFinder extends AsyncDisposable {
  /** For vectors of the size that the finder was opened for. */
  readonly nearest: FindNearest;
}

/**
 * Opens a finder for vectors of `size` values.
 *
 * `argmin_c |x - c|^2 = argmax_c x . c - |c|^2 / 2`, so one product is enough, with a column of
 * ones for the second term. Only the maxima of groups of 16 rows leave onnxruntime, which saves
 * copies.
 */
export async function openNearestFinder(size: number): Promise<NearestFinder> {
  const graph = trace(
    { rows: ["float32", "row", size + 1], table: ["float32", size + 1, "column"] },
    (ops, { rows, table }) => ({
      maxima: ops.max(ops.reshape(ops.matmul(rows, table), ["row", -1, GROUP]), 2),
    }),
  );
  const session = await compile(graph);
  return {
    async nearest(rows, table) {
      const groups = Math.ceil(table.length / size / GROUP);
      const columns = tableColumns(table, size, groups);
      const found = new Uint32Array(rows.length / size);
      const step = Math.max(1, Math.floor(PRODUCTS / (groups * GROUP)));
      for (let first = 0; first < found.length; first += step) {
        const batch = rows.subarray(first * size, (first + step) * size);
        const { maxima } = await session.run<"maxima">({
          rows: { data: withOnes(batch, size), shape: [batch.length / size, size + 1] },
          table: { data: columns, shape: [size + 1, groups * GROUP] },
        });
        nearestOfGroups(
          found.subarray(first, first + step),
          batch,
          table,
          size,
          maxima.data as Float32Array,
        );
      }
      return found;
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

/**
 * The transposed table with a last row of `-|c|^2 / 2`: [size + 1, groups * GROUP]. Columns past
 * the end of the table are very small and are never the maximum.
 */
function tableColumns(table: Float32Array, size: number, groups: number): Float32Array {
  const width = groups * GROUP;
  const columns = new Float32Array((size + 1) * width);
  columns.fill(-1e30, size * width);
  for (let row = 0; row < table.length / size; row++) {
    let square = 0;
    for (let d = 0; d < size; d++) {
      const value = table[row * size + d]!;
      columns[d * width + row] = value;
      square += value * value;
    }
    columns[size * width + row] = -square / 2;
  }
  return columns;
}

function withOnes(rows: Float32Array, size: number): Float32Array {
  const extended = new Float32Array(rows.length + rows.length / size);
  for (let from = 0, to = 0; from < rows.length; to++) {
    for (const end = from + size; from < end; ) extended[to++] = rows[from++]!;
    extended[to] = 1;
  }
  return extended;
}

/** Fills `found` with the nearest row of each row. `maxima` is [rows, groups]. */
function nearestOfGroups(
  found: Uint32Array,
  rows: Float32Array,
  table: Float32Array,
  size: number,
  maxima: Float32Array,
): void {
  const groups = maxima.length / found.length;
  for (let row = 0; row < found.length; row++) {
    let group = 0;
    let greatest = -Infinity;
    for (let g = 0, at = row * groups; g < groups; g++, at++) {
      const maximum = maxima[at]!;
      if (maximum > greatest) {
        greatest = maximum;
        group = g;
      }
    }
    let least = Infinity;
    const end = Math.min(table.length, (group + 1) * GROUP * size);
    for (let at = group * GROUP * size; at < end; ) {
      let distance = 0;
      for (let from = row * size; from < (row + 1) * size; from++, at++) {
        const difference = rows[from]! - table[at]!;
        distance += difference * difference;
      }
      if (distance < least) {
        least = distance;
        found[row] = at / size - 1;
      }
    }
  }
}
