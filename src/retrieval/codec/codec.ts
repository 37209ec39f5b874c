/** How token keys are put on disk: as they are, or compressed to a centroid and a coded residual. */

import { InputError } from "../../io/errors.ts";

/** Bits a dimension of a residual, on average. */
export type Bits = 1 | 2 | 4 | 8;

/** Reads keys from the bytes of a segment's file of keys. */
export interface KeyDecoder {
  readonly file: "keys.f32" | "codes.bin";
  /** Of each token; undefined where tokens differ. */
  readonly tokenBytes: number | undefined;
  /** [tokens, dimension] */
  decode(bytes: Uint8Array): Float32Array;
}

export const float32Decoder = (dimension: number): KeyDecoder => ({
  file: "keys.f32",
  tokenBytes: 4 * dimension,
  decode: (bytes) =>
    new Float32Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length / 4),
});

/**
 * What compressed keys are made of,
 *
 *     key = ratio * (centroid + residual)      in the coordinates of `axes`
 *
 * where the residual is cut into parts, each the entry of a table of 256 that one byte names (product quantisation).
 * Residuals of some centroids are several times as long as those of others: half of the tokens, those of the centroids
 * with the longest, get three times as many parts as the other half. The ratio gives the key its length back, which
 * decides which token of a passage matches best. Nothing is normalised.
 * Sources: Jégou et al., Product quantization for nearest neighbor search, 2011, section IV (residuals of centroids);
 * Santhanam et al., ColBERTv2, 2022, section 3.3 (for late interaction); Ge et al., Optimized product quantization,
 * 2014 (axes). What each of these brings is measured in docs/INDEX.md.
 */
export interface Codebook {
  readonly bits: Bits;
  readonly dimension: number;
  /** [dimension, dimension]: an orthonormal row for each coordinate of what follows. */
  readonly rotation: Float32Array;
  /** [centroids, dimension] */
  readonly centroids: Float32Array;
  /** [centroids]: parts, and so bytes, of the residuals of each. */
  readonly subquantisers: Uint8Array;
  /** By the number of parts: [parts, 256, width], flat, since parts differ in width by one where they must. */
  readonly codewords: ReadonlyMap<number, Float32Array>;
  /** [256] */
  readonly ratios: Float32Array;
}

/** How the keys of an index are read. The codebook is that of a compressed one. */
export interface Codec {
  readonly decoder: KeyDecoder;
  readonly codebook: Codebook | undefined;
}

/** What a byte can name. */
export const CODEWORDS = 256;

/** The parts that residuals are cut into, of the centroids with long ones and with short ones: bits / 8 a dimension on average. */
export function subquantiserCounts(dimension: number, bits: Bits): { long: number; short: number } {
  const average = (dimension * bits) / 8;
  const long = Math.min(dimension, Math.floor(1.5 * average));
  return { long, short: 2 * average - long };
}

/** The first dimension of each of `parts` parts, and the end of the last. */
export const subquantiserStarts = (dimension: number, subquantisers: number): number[] =>
  Array.from({ length: subquantisers + 1 }, (_, subspace) =>
    Math.floor((subspace * dimension) / subquantisers),
  );

/**
 * A code is the number of the centroid (little-endian, in `centroidBytes`), a byte for the ratio, and a byte for each part of
 * the residual.
 */
export const centroidBytes = ({ centroids, dimension }: Codebook): 2 | 4 =>
  centroids.length / dimension <= 65_536 ? 2 : 4;

const readCentroid = (codes: Uint8Array, at: number, bytes: 2 | 4): number => {
  const low = codes[at]! | (codes[at + 1]! << 8);
  return bytes === 2 ? low : (low | (codes[at + 2]! << 16) | (codes[at + 3]! << 24)) >>> 0;
};

/** Where each code starts, and the last one ends: [tokens + 1]. */
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

/** The centroids of codes. */
export function centroidsOf(codes: Uint8Array, codebook: Codebook): Uint32Array {
  const idBytes = centroidBytes(codebook);
  return Uint32Array.from(codeStarts(codes, codebook).subarray(0, -1), (at) =>
    readCentroid(codes, at, idBytes),
  );
}

/** [tokens, dimension], with other ratios than those of the codebook where they are given. */
export function decodeKeys(
  codes: Uint8Array,
  codebook: Codebook,
  ratios: Float32Array = codebook.ratios,
): Float32Array {
  const { dimension, centroids, subquantisers, codewords } = codebook;
  const layouts = new Map(
    Array.from(codewords, ([count, table]) => [
      count,
      { table, starts: subquantiserStarts(dimension, count) },
    ]),
  );
  const idBytes = centroidBytes(codebook);
  const tokens = codeStarts(codes, codebook);
  const keys = new Float32Array((tokens.length - 1) * dimension);
  for (let token = 0; token + 1 < tokens.length; token++) {
    const at = tokens[token]!;
    const centroid = readCentroid(codes, at, idBytes);
    const ratio = ratios[codes[at + idBytes]!]!;
    const { table, starts } = layouts.get(subquantisers[centroid]!)!;
    const from = centroid * dimension;
    const to = token * dimension;
    for (let subspace = 0, d = 0; d < dimension; subspace++) {
      const end = starts[subspace + 1]!;
      const first = starts[subspace]!;
      let next = CODEWORDS * first + codes[at + idBytes + 1 + subspace]! * (end - first);
      for (; d < end; d++) keys[to + d] = ratio * (centroids[from + d]! + table[next++]!);
    }
  }
  return keys;
}

export const residualDecoder = (codebook: Codebook): KeyDecoder => ({
  file: "codes.bin",
  tokenBytes: undefined,
  decode: (codes) => decodeKeys(codes, codebook),
});

/** Throws `InputError` where keys of so many dimensions cannot be coded with so many bits each. */
export function checkBits(bits: number, dimension: number): void {
  if ([1, 2, 4, 8].includes(bits) && (dimension * bits) % 8 === 0) return;
  throw new InputError({
    where: "bits",
    expected: `1, 2, 4 or 8, and whole bytes for ${dimension} dimensions`,
    got: String(bits),
    remedy: "choose another number of bits",
  });
}
