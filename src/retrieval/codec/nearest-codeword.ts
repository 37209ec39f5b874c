/**
 * Nearest-neighbour search among the codewords of a subquantiser: short vectors, for which a
 * product in onnxruntime would spend its time on memory. WebAssembly compares a row with four
 * codewords in one instruction (assembly/nearest-codeword.ts).
 */

import { CODEWORDS, type Codebook, subquantiserStarts } from "./codec.ts";
import type { OpenNearest } from "./nearest.ts";
import { NEAREST_CODEWORD } from "./nearest-codeword.wasm.ts";
import { openKernel, type WasmKernel } from "./wasm-kernel.ts";

/** Codewords that the kernel compares together. */
const GROUP = 16;
/** Bytes of rows in the memory at a time. */
const BATCH_BYTES = 2 ** 22;
/** The same for residuals, which are read once for each subspace: they stay in a cache. */
const RESIDUAL_BYTES = 2 ** 18;

/** The exported function of assembly/nearest-codeword.ts. */
type NearestCodewords = (
  rows: number,
  end: number,
  stride: number,
  width: number,
  count: number,
  table: number,
  found: number,
  foundStride: number,
) => void;

const open = (): WasmKernel & { readonly search: NearestCodewords } => {
  const kernel = openKernel(NEAREST_CODEWORD, "compression of an index");
  return { ...kernel, search: kernel.exports.nearestCodewords as NearestCodewords };
};

/**
 * Opens searches in tables of at most 256 rows. The garbage collector frees their memory.
 */
export function openCodewordSearch(): OpenNearest {
  const { memory, reserve, search } = open();
  return (table, size) => {
    const columns = tableColumns(table, size);
    const count = columns.length / (size + 1);
    const step = Math.floor(BATCH_BYTES / (4 * size));
    const start = columns.byteLength;
    reserve(start);
    new Float32Array(memory.buffer).set(columns);
    return (rows) => {
      const found = new Uint32Array(rows.length / size);
      for (let first = 0; first < found.length; first += step) {
        const batch = rows.subarray(first * size, (first + step) * size);
        const results = start + batch.byteLength; // where they begin
        reserve(results + step);
        new Float32Array(memory.buffer, start).set(batch);
        search(start, results, 4 * size, size, count, 0, results, 1);
        found.set(new Uint8Array(memory.buffer, results, batch.length / size), first);
      }
      return found;
    };
  };
}

/** Codes residuals, [n, dimension], with the same number of subquantisers: [n, subquantisers]. */
export type CodeResiduals = (residuals: Float32Array, subquantisers: number) => Uint8Array;

/** Opens the coding of residuals with the codewords of `codebook`. */
export function openResidualCoder({
  dimension,
  codewords,
}: Pick<Codebook, "dimension" | "codewords">): CodeResiduals {
  const { memory, reserve, search } = open();
  const places = new Map<number, number>();
  let end = 0;
  for (const [count, table] of codewords) {
    const starts = subquantiserStarts(dimension, count);
    const columns = starts.slice(1).map((last, subspace) => {
      const first = starts[subspace]!;
      return tableColumns(table.subarray(CODEWORDS * first, CODEWORDS * last), last - first);
    });
    places.set(count, end);
    reserve(end + 4 * CODEWORDS * (dimension + count));
    for (const column of columns) {
      new Float32Array(memory.buffer, end).set(column);
      end += column.byteLength;
    }
  }
  const [rowBytes, rowsStart] = [4 * dimension, end];
  return (residuals, count) => {
    const codes = new Uint8Array((residuals.length / dimension) * count);
    const starts = subquantiserStarts(dimension, count);
    const step = Math.ceil(RESIDUAL_BYTES / rowBytes);
    for (let row = 0; row * dimension < residuals.length; row += step) {
      const batch = residuals.subarray(row * dimension, (row + step) * dimension);
      const results = rowsStart + batch.byteLength;
      const resultBytes = (batch.length / dimension) * count;
      reserve(results + resultBytes);
      new Float32Array(memory.buffer, rowsStart).set(batch);
      let table = places.get(count)!;
      for (let subspace = 0; subspace < count; subspace++) {
        const first = rowsStart + 4 * starts[subspace]!;
        const width = starts[subspace + 1]! - starts[subspace]!;
        search(first, results, rowBytes, width, CODEWORDS, table, results + subspace, count);
        table += 4 * CODEWORDS * (width + 1);
      }
      codes.set(new Uint8Array(memory.buffer, results, resultBytes), row * count);
    }
    return codes;
  };
}

/** [1 + size, count]: the halves of the squares, then the transposed table. */
function tableColumns(table: Float32Array, size: number): Float32Array {
  const rows = table.length / size;
  const count = Math.ceil(rows / GROUP) * GROUP;
  const columns = new Float32Array((size + 1) * count);
  columns.fill(Infinity, rows, count); // never the nearest
  for (let row = 0; row < rows; row++)
    for (let d = 0; d < size; d++) {
      const value = table[row * size + d]!;
      columns[row]! += (value * value) / 2;
      columns[(d + 1) * count + row] = value;
    }
  return columns;
}
