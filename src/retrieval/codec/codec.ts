/** How token keys are stored: as float32, or compressed to a centroid and a quantised residual. */

import { InputError } from "../../io/errors.ts";
import { longestRow } from "../scoring/vectors.ts";

/** Mean number of bits for each dimension of a key. */
export type Bits = 1 | 2 | 4 | 8;

/** Decodes keys from the bytes of a segment's key file. */
export interface KeyDecoder {
  readonly file: "keys.f32" | "keys.i8" | "codes.bin";
  /** Bytes for each token; undefined if tokens differ in size. */
  readonly tokenBytes: number | undefined;
  /** [tokens, dimension]. `allocate` provides memory for keys that are computed. */
  decode(bytes: Uint8Array, allocate?: AllocateValues): Float32Array;
}

/** Provides memory for a number of values. */
export type AllocateValues = (values: number) => Float32Array;

export const float32Decoder = (dimension: number): KeyDecoder => ({
  file: "keys.f32",
  tokenBytes: 4 * dimension,
  decode: (bytes) =>
    new Float32Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length / 4),
});

/**
 * The parts from which compressed keys are decoded:
 *
 *     rotated key = ratio * (centroid + residual)
 *
 * The residual is coded by product quantisation: its dimensions are cut into subspaces, and each
 * subspace has a subquantiser, whose codeword one byte names. Residuals of some centroids are
 * several times as long as those of others. So the centroids with the longest residuals, which
 * cover half of the tokens, get three times as many subquantisers as the others. The ratio restores
 * the length of the key, which decides the token of a passage that matches best. Keys are not
 * normalised.
 *
 * Sources: Jégou et al., Product quantization for nearest neighbor search, 2011, section IV
 * (residuals of centroids); Santhanam et al., ColBERTv2, 2022, section 3.3 (late interaction); Ge
 * et al., Optimized product quantization, 2014 (rotation). docs/experiments/compression.md has the
 * gain of each.
 */
export interface Codebook {
  readonly bits: Bits;
  readonly dimension: number;
  /** The OPQ rotation, [dimension, dimension]: an orthonormal row for each rotated dimension. */
  readonly rotation: Float32Array;
  /** [centroids, dimension], rotated. */
  readonly centroids: Float32Array;
  /**
   * The number of subquantisers, and so of bytes, for the residuals of each centroid: [centroids].
   */
  readonly subquantisers: Uint16Array;
  /**
   * Codewords by the number of subquantisers m: [m, 256, width], flat. The widths of the subspaces
   * differ by at most one.
   */
  readonly codewords: ReadonlyMap<number, Float32Array>;
  /** Length ratios: [256]. */
  readonly ratios: Float32Array;
}

/** How the keys of an index are decoded. `codebook` is undefined for float32 keys. */
export interface Codec {
  readonly decoder: KeyDecoder;
  readonly codebook: Codebook | undefined;
}

/** Codewords of a subquantiser: the values of a byte. */
export const CODEWORDS = 256;

/**
 * The numbers of subquantisers for long and for short residuals. The mean is bits / 8 for each
 * dimension.
 */
export function subquantiserCounts(dimension: number, bits: Bits): { long: number; short: number } {
  const average = (dimension * bits) / 8;
  const long = Math.min(dimension, Math.floor(1.5 * average));
  return { long, short: 2 * average - long };
}

/** The first dimension of each subspace, and the end of the last: [subquantisers + 1]. */
export const subquantiserStarts = (dimension: number, subquantisers: number): number[] =>
  Array.from({ length: subquantisers + 1 }, (_, subspace) =>
    Math.floor((subspace * dimension) / subquantisers),
  );

/**
 * Bytes of the centroid's number in a code. A code is this number (little-endian), one byte for the
 * length ratio, and one byte for each subquantiser.
 */
export const centroidBytes = ({ centroids, dimension }: Codebook): 2 | 4 =>
  centroids.length / dimension <= 65_536 ? 2 : 4;

const readCentroid = (codes: Uint8Array, at: number, bytes: 2 | 4): number => {
  const low = codes[at]! | (codes[at + 1]! << 8);
  return bytes === 2 ? low : (low | (codes[at + 2]! << 16) | (codes[at + 3]! << 24)) >>> 0;
};

/** The start of each code, and the end of the last: [tokens + 1]. */
export function codeStarts(codes: Uint8Array, codebook: Codebook): Uint32Array {
  const idBytes = centroidBytes(codebook);
  const starts = new Uint32Array(Math.floor(codes.length / (idBytes + 1)) + 1);
  let tokens = 0;
  for (let at = 0; at < codes.length; ) {
    at += idBytes + 1 + codebook.subquantisers[readCentroid(codes, at, idBytes)]!;
    starts[++tokens] = at;
  }
  return starts.subarray(0, tokens + 1);
}

/** The centroid of each code: [tokens]. */
export function centroidsOf(codes: Uint8Array, codebook: Codebook): Uint32Array {
  const idBytes = centroidBytes(codebook);
  return Uint32Array.from(codeStarts(codes, codebook).subarray(0, -1), (at) =>
    readCentroid(codes, at, idBytes),
  );
}

/** A bound on the Euclidean length of a key: subspaces are orthogonal. */
export function longestKeyOf({ dimension, centroids, codewords, ratios }: Codebook): number {
  const residuals = Array.from(codewords, ([count, table]) => {
    const starts = subquantiserStarts(dimension, count);
    let [squares, first] = [0, 0];
    for (let subspace = 0; subspace < count; subspace++) {
      const width = starts[subspace + 1]! - starts[subspace]!;
      const end = first + CODEWORDS * width;
      squares += longestRow(table.subarray(first, end), width) ** 2;
      first = end;
    }
    return Math.sqrt(squares);
  });
  return Math.max(...ratios) * (longestRow(centroids, dimension) + Math.max(...residuals));
}

/** @throws {InputError} if keys of this dimension cannot be coded with this number of bits */
export function checkBits(bits: number, dimension: number): void {
  if ([1, 2, 4, 8].includes(bits) && (dimension * bits) % 8 === 0) return;
  throw new InputError({
    where: "bits",
    expected: `1, 2, 4 or 8, and whole bytes for ${dimension} dimensions`,
    got: String(bits),
    remedy: "choose another number of bits",
  });
}
