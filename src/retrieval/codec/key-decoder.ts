/** Decodes compressed keys in WebAssembly (assembly/decode-keys.ts). */

import {
  CODEWORDS,
  type Codebook,
  centroidBytes,
  codeStarts,
  type KeyDecoder,
  subquantiserStarts,
} from "./codec.ts";
import { DECODE_KEYS } from "./decode-keys.wasm.ts";
import { openKernel } from "./wasm-kernel.ts";

/** Tokens in the memory of the kernel at a time: few, so that they stay in a cache. */
const BATCH_TOKENS = 512;

/** Bytes after an array of which the kernel reads or writes four values at a time. */
const PADDING = 16;

/** The exported function of assembly/decode-keys.ts. */
type Kernel = (
  codes: number,
  end: number,
  keys: number,
  idBytes: number,
  subquantisers: number,
  layouts: number,
  ratios: number,
  centroids: number,
  rowBytes: number,
) => void;

/** The decoder of a compressed index. It opens at the first use: most commands need few keys. */
export function residualDecoder(codebook: Codebook): KeyDecoder {
  let decode: KeyDecoder["decode"] | undefined;
  return {
    file: "codes.bin",
    tokenBytes: undefined,
    decode(...input) {
      decode ??= openKeyDecoder(codebook);
      return decode(...input);
    },
  };
}

/**
 * Opens a decoder of codes to rotated keys, [tokens, dimension]. Its memory belongs to it, with a
 * copy of the codebook, and the garbage collector frees both.
 *
 * @throws {InputError} if the process has too little address space
 */
export function openKeyDecoder(codebook: Codebook): KeyDecoder["decode"] {
  const { dimension } = codebook;
  const { memory, exports, reserve } = openKernel(DECODE_KEYS, "a compressed index");
  const kernel = exports.decodeKeys as Kernel;
  const { places, end } = layOut(codebook);
  const idBytes = centroidBytes(codebook);
  const most = Math.max(...codebook.codewords.keys());
  const keys = aligned(end + BATCH_TOKENS * (idBytes + 1 + most));
  reserve(keys + 4 * BATCH_TOKENS * dimension + PADDING);
  writeCodebook(memory, codebook, places);
  const { subquantisers, layouts, ratios, centroids } = places;
  return (codes, allocate = (values) => new Float32Array(values)) => {
    const starts = codeStarts(codes, codebook);
    const decoded = allocate((starts.length - 1) * dimension);
    for (let first = 0; first < starts.length - 1; first += BATCH_TOKENS) {
      const last = Math.min(first + BATCH_TOKENS, starts.length - 1);
      const batch = codes.subarray(starts[first], starts[last]);
      new Uint8Array(memory.buffer).set(batch, end);
      kernel(
        end,
        end + batch.length,
        keys,
        idBytes,
        subquantisers,
        layouts,
        ratios,
        centroids,
        4 * dimension,
      );
      const values = new Float32Array(memory.buffer, keys, (last - first) * dimension);
      decoded.set(values, first * dimension);
    }
    return decoded;
  };
}

/** Where the memory holds a codebook. */
interface Places {
  readonly ratios: number;
  readonly subquantisers: number;
  readonly layouts: number;
  /** By the number of subquantisers. */
  readonly widths: ReadonlyMap<number, number>;
  readonly codewords: ReadonlyMap<number, number>;
  readonly centroids: number;
}

const aligned = (address: number): number => Math.ceil(address / 16) * 16;

function layOut({ dimension, subquantisers, codewords, centroids }: Codebook): {
  places: Places;
  end: number;
} {
  let end = 0;
  const place = (bytes: number): number => {
    const start = end;
    end = aligned(start + bytes + PADDING);
    return start;
  };
  const counts = [...codewords.keys()];
  const places = {
    ratios: place(8 * CODEWORDS),
    subquantisers: place(subquantisers.byteLength),
    layouts: place(8 * (dimension + 1)),
    widths: new Map(counts.map((count) => [count, place(2 * count)])),
    codewords: new Map(counts.map((count) => [count, place(codewords.get(count)!.byteLength)])),
    centroids: place(centroids.byteLength),
  };
  return { places, end };
}

function writeCodebook({ buffer }: WebAssembly.Memory, codebook: Codebook, places: Places): void {
  new Float64Array(buffer, places.ratios).set(codebook.ratios);
  new Uint16Array(buffer, places.subquantisers).set(codebook.subquantisers);
  new Float32Array(buffer, places.centroids).set(codebook.centroids);
  for (const [count, table] of codebook.codewords) {
    const [widths, codewords] = [places.widths.get(count)!, places.codewords.get(count)!];
    const starts = subquantiserStarts(codebook.dimension, count);
    new Uint16Array(buffer, widths).set(starts.slice(1).map((end, i) => end - starts[i]!));
    new Float32Array(buffer, codewords).set(table);
    new Uint32Array(buffer, places.layouts).set([widths, codewords], 2 * count);
  }
}
