/** How token keys are put on disk: as they are, or compressed to a centroid and a coded residual. */

import { InputError } from "../errors.ts";
import { kMeans } from "./kmeans.ts";
import { openNearestFinder } from "./nearest.ts";

/** Bits a dimension of a residual. */
export type Bits = 1 | 2 | 4 | 8;

/** Reads keys from the bytes of a segment's file of keys. */
export interface KeyDecoder {
  readonly file: "keys.f32" | "codes.bin";
  readonly tokenBytes: number;
  /** [tokens, dimension] */
  decode(bytes: Uint8Array): Float32Array;
}

export const float32Decoder = (dimension: number): KeyDecoder => ({
  file: "keys.f32",
  tokenBytes: 4 * dimension,
  decode: (bytes) => new Float32Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length / 4),
});

/**
 * What compressed keys are made of: key = centroid + residual, and the residual is cut into parts of 8 / bits dimensions
 * (product quantisation), each the entry of a table of 256 that one byte names. Nothing is normalised.
 * Sources: Jégou et al., Product quantization for nearest neighbor search, 2011, section IV (residuals of centroids);
 * Santhanam et al., ColBERTv2, 2022, section 3.3 (for late interaction).
 */
export interface Codebook {
  readonly bits: Bits;
  readonly dimension: number;
  /** [centroids, dimension] */
  readonly centroids: Float32Array;
  /** [parts, 256, 8 / bits] */
  readonly residuals: Float32Array;
}

/** How the keys of an index are read. The codebook is that of a compressed one. */
export interface Codec {
  readonly decoder: KeyDecoder;
  readonly codebook: Codebook | undefined;
}

const ENTRIES = 256; // what a byte can name

/** Bytes of a centroid's number in a code. */
const centroidBytes = ({ centroids, dimension }: Codebook): 2 | 4 =>
  centroids.length / dimension <= 65_536 ? 2 : 4;

/** A code is the number of the centroid (little-endian), then a byte for each part of the residual. */
export const codeBytes = (codebook: Codebook): number =>
  centroidBytes(codebook) + (codebook.dimension * codebook.bits) / 8;

/** So many keys teach a codebook for an index of `tokens` keys. */
export const sampleSize = (tokens: number): number => Math.min(tokens, 32 * centroidCount(tokens));

/**
 * 4 sqrt(tokens), as a power of 2: then a question's scores with the centroids cost less than those with its candidates,
 * and a list is still short enough to be read whole.
 */
export const centroidCount = (tokens: number): number =>
  2 ** Math.round(Math.log2(Math.max(1, Math.min(4 * Math.sqrt(tokens), tokens / 8))));

/** Learns a codebook from a sample of keys, [n, dimension]. */
export async function trainCodebook(
  sample: Float32Array,
  dimension: number,
  count: number,
  bits: Bits,
  signal?: AbortSignal,
): Promise<Codebook> {
  const centroids = await kMeans(sample, dimension, count, signal);
  const left = subtractCentroids(
    sample,
    await nearestCentroids(sample, centroids, dimension),
    centroids,
    dimension,
  );
  const width = 8 / bits;
  const residuals = new Float32Array((dimension / width) * ENTRIES * width);
  for (let part = 0; part < dimension / width; part++) {
    const columns = padRows(columnsOf(left, dimension, part * width, width), width);
    residuals.set(await kMeans(columns, width, ENTRIES, signal), part * ENTRIES * width);
  }
  return { bits, dimension, centroids, residuals };
}

export interface KeyEncoder extends AsyncDisposable {
  /** The codes of keys [n, dimension]. */
  encode(keys: Float32Array): Promise<Uint8Array>;
}

export async function openEncoder(codebook: Codebook): Promise<KeyEncoder> {
  const { bits, dimension, centroids } = codebook;
  const width = 8 / bits;
  const idBytes = centroidBytes(codebook);
  const tokenBytes = codeBytes(codebook);
  const whole = await openNearestFinder(dimension);
  const parts = await openNearestFinder(width);
  return {
    async encode(keys) {
      const nearest = await whole.nearest(keys, centroids);
      const left = subtractCentroids(keys, nearest, centroids, dimension);
      const codes = new Uint8Array(nearest.length * tokenBytes);
      for (const [row, centroid] of nearest.entries())
        for (let b = 0; b < idBytes; b++) codes[row * tokenBytes + b] = centroid >>> (8 * b);
      for (let part = 0; part < dimension / width; part++) {
        const table = codebook.residuals.subarray(part * ENTRIES * width, (part + 1) * ENTRIES * width);
        const entries = await parts.nearest(columnsOf(left, dimension, part * width, width), table);
        for (const [row, entry] of entries.entries()) codes[row * tokenBytes + idBytes + part] = entry;
      }
      return codes;
    },
    async [Symbol.asyncDispose]() {
      await whole[Symbol.asyncDispose]();
      await parts[Symbol.asyncDispose]();
    },
  };
}

export function residualDecoder(codebook: Codebook): KeyDecoder {
  const { bits, dimension, centroids, residuals } = codebook;
  const width = 8 / bits;
  const idBytes = centroidBytes(codebook);
  const tokenBytes = codeBytes(codebook);
  return {
    file: "codes.bin",
    tokenBytes,
    decode(bytes) {
      const keys = new Float32Array((bytes.length / tokenBytes) * dimension);
      let at = 0;
      for (let out = 0; out < keys.length; out += dimension) {
        const centroid = readCentroid(bytes, at, idBytes) * dimension;
        at += idBytes;
        for (let d = 0; d < dimension; d += width, at++) {
          const entry = d * ENTRIES + bytes[at]! * width;
          for (let w = 0; w < width; w++)
            keys[out + d + w] = centroids[centroid + d + w]! + residuals[entry + w]!;
        }
      }
      return keys;
    },
  };
}

/** The centroids of codes. */
export function centroidsOf(codes: Uint8Array, codebook: Codebook): Uint32Array {
  const tokenBytes = codeBytes(codebook);
  const idBytes = centroidBytes(codebook);
  return Uint32Array.from({ length: codes.length / tokenBytes }, (_, i) =>
    readCentroid(codes, i * tokenBytes, idBytes),
  );
}

const readCentroid = (bytes: Uint8Array, at: number, idBytes: 2 | 4): number => {
  const low = bytes[at]! | (bytes[at + 1]! << 8);
  return idBytes === 2 ? low : (low | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
};

async function nearestCentroids(
  keys: Float32Array,
  centroids: Float32Array,
  dimension: number,
): Promise<Uint32Array> {
  await using finder = await openNearestFinder(dimension);
  return await finder.nearest(keys, centroids); // before the finder is disposed of
}

function subtractCentroids(
  keys: Float32Array,
  nearest: Uint32Array,
  centroids: Float32Array,
  dimension: number,
): Float32Array {
  return keys.map((value, i) => {
    const d = i % dimension;
    return value - centroids[nearest[(i - d) / dimension]! * dimension + d]!;
  });
}

/** Columns `first` to `first + width` of [n, size]. */
function columnsOf(rows: Float32Array, size: number, first: number, width: number): Float32Array {
  const columns = new Float32Array((rows.length / size) * width);
  for (let from = first, to = 0; from < rows.length; from += size, to += width)
    for (let w = 0; w < width; w++) columns[to + w] = rows[from + w]!;
  return columns;
}

/** k-means wants a row for each of its 256 centroids: a tiny sample is repeated. */
function padRows(rows: Float32Array, width: number): Float32Array {
  const needed = ENTRIES * width;
  if (rows.length >= needed) return rows;
  return Float32Array.from({ length: needed }, (_, i) => rows[i % rows.length]!);
}

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
