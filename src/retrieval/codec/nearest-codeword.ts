/**
 * Nearest-neighbour search among the codewords of a subquantiser: short vectors, for which a
 * product in onnxruntime would spend its time on memory. WebAssembly compares a row with four
 * codewords in one instruction (assembly/nearest-codeword.ts).
 */

import type { FindNearest } from "./nearest.ts";
import { NEAREST_CODEWORD } from "./nearest-codeword.wasm.ts";
import { openKernel } from "./wasm-kernel.ts";

/** Codewords that the kernel compares together. */
const GROUP = 16;
/** Bytes of rows in the memory at a time. */
const BATCH_BYTES = 2 ** 22;

/** The exported function of assembly/nearest-codeword.ts. */
type NearestCodewords = (
  rows: number,
  end: number,
  width: number,
  count: number,
  table: number,
  found: number,
) => void;

/** Opens a search. Its memory belongs to it, and the garbage collector frees both. */
export function openCodewordSearch(): FindNearest {
  const { memory, exports, reserve } = openKernel(NEAREST_CODEWORD, "compression of an index");
  const search = exports.nearestCodewords as NearestCodewords;
  return (rows, table, size) => {
    const found = new Uint32Array(rows.length / size);
    const columns = tableColumns(table, size);
    const count = columns.length / (size + 1);
    const step = Math.floor(BATCH_BYTES / (4 * size));
    for (let first = 0; first < found.length; first += step) {
      const batch = rows.subarray(first * size, (first + step) * size);
      const results = columns.byteLength + batch.byteLength; // where they begin
      reserve(results + 4 * step);
      new Float32Array(memory.buffer).set(columns);
      new Float32Array(memory.buffer).set(batch, columns.length);
      search(columns.byteLength, results, size, count, 0, results);
      found.set(new Uint32Array(memory.buffer, results, batch.length / size), first);
    }
    return found;
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
