/**
 * Scores of compressed passages, computed on their codes: nothing is decompressed.
 *
 * The product of question token i with a key of centroid c, ratio r and entries e_p is
 *
 *     q_i . k = r (q_i . c + sum_p q_i . e_p)
 *
 * and the products of q_i with all centroids and entries are computed once a question, so a key costs a look-up for each
 * part (asymmetric distance computation). Most keys do not even cost that: what residuals add to q_i . c has a standard
 * deviation of s_i, and where r q_i . c lies 2 s_i below the best product of the passage so far, the key is passed over.
 *
 * Question token by question token over all passages: so the entries' products stay in the processor's first cache.
 * Source: Jégou et al., Product quantization for nearest neighbor search, 2011, section III.A.
 */

import {
  type Codebook,
  centroidBytes,
  codeStarts,
  ENTRIES,
  partStarts,
  readCentroid,
} from "../compression/codec.ts";
import { dotProduct } from "./score.ts";

/** In standard deviations: more costs time, less loses a maximum now and then. */
const SLACK = 2;

/** Avg-max of a question over the keys of each of some passages, of which the codes are given. */
export type CodeScorer = (passages: readonly Uint8Array[]) => Float64Array;

/** `centroidProducts` is [question tokens, centroids]. */
export function codeScorer(
  codebook: Codebook,
  question: Float32Array,
  centroidProducts: Float32Array,
): CodeScorer {
  const { dimension, centroids, tables } = codebook;
  const count = centroids.length / dimension;
  const tokens = Array.from({ length: question.length / dimension }, (_, i): QuestionToken => {
    const query = question.subarray(i * dimension, (i + 1) * dimension);
    const entries: Float32Array[] = [];
    const slacks = new Float32Array(dimension + 1);
    for (const [parts, table] of tables) {
      const products = entryProducts(query, table, parts);
      entries[parts] = products;
      slacks[parts] = SLACK * deviation(products);
    }
    return { centroids: centroidProducts.subarray(i * count, (i + 1) * count), entries, slacks };
  });
  return (passages) => {
    const keys = readCodes(passages, codebook);
    const sums = new Float64Array(passages.length);
    for (const token of tokens) addMaxima(sums, token, keys);
    return sums.map((sum) => sum / tokens.length);
  };
}

/** What a question token's products are made of. */
interface QuestionToken {
  /** With each centroid. */
  readonly centroids: Float32Array;
  /** By the number of parts: with the entries of each part, [parts, 256]. */
  readonly entries: readonly Float32Array[];
  /** By the number of parts: how far residuals can be expected to move a product. */
  readonly slacks: Float32Array;
}

function entryProducts(query: Float32Array, table: Float32Array, parts: number): Float32Array {
  const entries = new Float32Array(parts * ENTRIES);
  const starts = partStarts(query.length, parts);
  for (let part = 0; part < parts; part++) {
    const first = starts[part]!;
    const width = starts[part + 1]! - first;
    for (let entry = 0; entry < ENTRIES; entry++)
      entries[part * ENTRIES + entry] = dotProduct(
        query,
        first,
        table,
        ENTRIES * first + entry * width,
        width,
      );
  }
  return entries;
}

/** Of a sum of entries, one of each part. */
function deviation(entries: Float32Array): number {
  let variance = 0;
  for (let first = 0; first < entries.length; first += ENTRIES) {
    let [sum, squares] = [0, 0];
    for (let entry = first; entry < first + ENTRIES; entry++) {
      sum += entries[entry]!;
      squares += entries[entry]! * entries[entry]!;
    }
    variance += squares / ENTRIES - (sum / ENTRIES) ** 2;
  }
  return Math.sqrt(variance);
}

/** The keys of some passages, one after the other. */
interface CodedKeys {
  /** First key of each passage, and the end of the last: [passages + 1]. */
  readonly starts: Uint32Array;
  readonly codes: Uint8Array;
  /** Of each key, as are those below: where the entries of its residual stand in `codes`. */
  readonly at: Uint32Array;
  readonly centroids: Uint32Array;
  readonly parts: Uint8Array;
  readonly ratios: Float32Array;
}

function readCodes(passages: readonly Uint8Array[], codebook: Codebook): CodedKeys {
  const idBytes = centroidBytes(codebook);
  const codes = Buffer.concat(passages);
  const tokenStarts = codeStarts(codes, codebook);
  const tokens = tokenStarts.length - 1;
  const starts = new Uint32Array(passages.length + 1);
  const at = new Uint32Array(tokens);
  const centroids = new Uint32Array(tokens);
  const parts = new Uint8Array(tokens);
  const ratios = new Float32Array(tokens);
  let token = 0;
  let byte = 0;
  for (const [p, { length }] of passages.entries()) {
    byte += length;
    for (; tokenStarts[token]! < byte; token++) {
      const start = tokenStarts[token]!;
      const centroid = readCentroid(codes, start, idBytes);
      at[token] = start + idBytes + 1;
      centroids[token] = centroid;
      parts[token] = codebook.parts[centroid]!;
      ratios[token] = codebook.ratios[codes[start + idBytes]!]!;
    }
    starts[p + 1] = token;
  }
  return { starts, codes, at, centroids, parts, ratios };
}

/** Adds to `sums[p]` the greatest product of a question token with the keys of passage p. */
function addMaxima(sums: Float64Array, { centroids, entries, slacks }: QuestionToken, keys: CodedKeys): void {
  const { starts, codes, at, parts, ratios } = keys;
  for (let p = 0; p < sums.length; p++) {
    let best = -Infinity;
    for (let t = starts[p]!, end = starts[p + 1]!; t < end; t++) {
      const count = parts[t]!;
      const coarse = ratios[t]! * centroids[keys.centroids[t]!]!;
      if (coarse + slacks[count]! <= best) continue;
      const table = entries[count]!;
      const code = at[t]!;
      let residual = 0;
      for (let part = 0; part < count; part++) residual += table[part * ENTRIES + codes[code + part]!]!;
      const product = coarse + ratios[t]! * residual;
      if (product > best) best = product;
    }
    sums[p]! += best;
  }
}
