/**
 * Nearest-neighbour search in a table of vectors of the size of a key. Short vectors:
 * nearest-codeword.ts.
 */

import { openGroupMaxima, type RoundedTable } from "../../tensor/group-maxima.ts";
import { NEAREST_ROW } from "./nearest-row.wasm.ts";
import { openKernel, type WasmKernel } from "./wasm-kernel.ts";

/** Rows of the table in a group. */
const GROUP = 16;
/** Products in memory at a time: 2 MB, which stay in a cache. */
const PRODUCTS = 2 ** 19;
/** The least number of rows at a time. A run orders the table for products. */
const LEAST_ROWS = 128;
/** The greatest integers of rounded vectors and of a rounded table. */
const [LARGEST, LARGEST_OF_TABLE] = [127, 63];

/**
 * Opens the search in `table`, [count, size]. It ends when the search in another table is opened.
 * For each row of [n, size], it gives the number of the nearest row of the table by Euclidean
 * distance.
 */
export type OpenNearest = (
  table: Float32Array,
  size: number,
) => (rows: Float32Array) => Uint32Array | Promise<Uint32Array>;

/** For vectors of the size that the finder was opened for. */
export interface NearestFinder extends AsyncDisposable {
  readonly open: OpenNearest;
}

/** The exported function of assembly/nearest-row.ts. */
type NearestRows = (
  rows: number,
  end: number,
  rowBytes: number,
  maxima: number,
  groups: number,
  table: number,
  tableEnd: number,
  found: number,
) => void;

/**
 * Opens a finder for vectors of `size` values.
 *
 * `argmin_c |x - c|^2 = argmax_c x . c - |c|^2 / 2`. Products of rounded values choose two of the
 * groups of 16 rows; the distances to their rows are exact. Of keys of `reatt-mini` and 4,096
 * centroids, 1 of 20,000 gets another row than the nearest.
 */
export async function openNearestFinder(size: number): Promise<NearestFinder> {
  const products = await openGroupMaxima(size, GROUP);
  const kernel = openKernel(NEAREST_ROW, "compression of an index");
  const open: OpenNearest = (table) => {
    const rounded = roundTable(table, size);
    const groups = rounded.scales.length / GROUP;
    const step = Math.max(LEAST_ROWS, Math.floor(PRODUCTS / (groups * GROUP)));
    const compare = openComparison(kernel, table, size, groups, step);
    return async (rows) => {
      const found = new Uint32Array(rows.length / size);
      for (let first = 0; first < found.length; first += step) {
        const batch = rows.subarray(first * size, (first + step) * size);
        const maxima = compare.maximaOf(batch);
        await products.maxima(batch, rounded, maxima);
        found.set(compare.nearest(batch, maxima), first);
      }
      return found;
    };
  };
  return { open, [Symbol.asyncDispose]: () => products[Symbol.asyncDispose]() };
}

/**
 * The columns of a table. Those after its end, up to a whole group, are never the nearest. The unit
 * of the rows comes from the table, so that the result for a row depends on no other row.
 */
function roundTable(table: Float32Array, size: number): RoundedTable {
  const rows = table.length / size;
  const count = Math.ceil(rows / GROUP) * GROUP;
  const integers = new Int8Array(size * count);
  const scales = new Float32Array(count).fill(1);
  const added = new Float32Array(count).fill(-3e38);
  let greatest = 0;
  for (let row = 0; row < rows; row++) {
    let square = 0;
    let largest = 0;
    for (let at = row * size; at < (row + 1) * size; at++) {
      square += table[at]! * table[at]!;
      largest = Math.max(largest, Math.abs(table[at]!));
    }
    added[row] = -square / 2;
    if (largest === 0) continue;
    greatest = Math.max(greatest, largest);
    scales[row] = largest / LARGEST_OF_TABLE;
    for (let d = 0; d < size; d++)
      integers[d * count + row] = Math.round((table[row * size + d]! / largest) * LARGEST_OF_TABLE);
  }
  return { integers, scales, added, unit: (greatest || 1) / LARGEST };
}

interface Comparison {
  /** Memory for the maxima of the groups for each of `rows`. */
  maximaOf(rows: Float32Array): Float32Array;
  /** The nearest row of the table for each of `rows`. */
  nearest(rows: Float32Array, maxima: Float32Array): Uint32Array;
}

/** Opens the exact comparison for batches of at most `step` rows. */
function openComparison(
  { memory, exports, reserve }: WasmKernel,
  table: Float32Array,
  size: number,
  groups: number,
  step: number,
): Comparison {
  const width = Math.ceil(size / 4) * 4; // padded with zeros
  const tableEnd = 4 * width * (table.length / size);
  const results = tableEnd + 4 * width * step;
  const maximaStart = results + 4 * step;
  reserve(maximaStart + 4 * groups * step);
  const copy = (values: Float32Array, to: number): void => {
    const target = new Float32Array(memory.buffer, to);
    if (width === size) target.set(values);
    else
      for (let row = 0; row * size < values.length; row++) {
        target.set(values.subarray(row * size, (row + 1) * size), row * width);
        target.fill(0, row * width + size, (row + 1) * width);
      }
  };
  copy(table, 0);
  return {
    maximaOf: (rows) => new Float32Array(memory.buffer, maximaStart, (groups * rows.length) / size),
    nearest(rows, { byteOffset }) {
      const count = rows.length / size;
      copy(rows, tableEnd);
      const end = tableEnd + 4 * width * count;
      const search = exports.nearestRows as NearestRows;
      search(tableEnd, end, 4 * width, byteOffset, groups, 0, tableEnd, results);
      return new Uint32Array(memory.buffer, results, count);
    },
  };
}
