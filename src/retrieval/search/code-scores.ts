/**
 * Scores of compressed passages, computed on their codes: nothing is decompressed.
 *
 * The product of question token i with a key of centroid c, ratio r and entries e_p is
 *
 *     q_i . k = r (q_i . c + sum_p q_i . e_p)
 *
 * and the products of q_i with all centroids and entries are computed once a question, so a key costs a look-up for each
 * part (asymmetric distance computation). Most keys do not even cost that: what residuals add to q_i . c has a standard
 * deviation of s_i, and where r q_i . c lies more than 2 s_i below the best of the passage, the key is passed over.
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
    const residuals: ResidualProducts[] = [];
    for (const [parts, table] of tables) residuals[parts] = residualProducts(query, table, parts);
    return { centroids: centroidProducts.subarray(i * count, (i + 1) * count), residuals };
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
  /** By the number of parts. */
  readonly residuals: readonly ResidualProducts[];
}

interface ResidualProducts {
  /** With the entries of each part: [parts, 256]. */
  readonly entries: Float32Array;
  /** How far residuals can be expected to move a product. */
  readonly slack: number;
}

function residualProducts(query: Float32Array, table: Float32Array, parts: number): ResidualProducts {
  const entries = new Float32Array(parts * ENTRIES);
  const starts = partStarts(query.length, parts);
  let variance = 0;
  for (let part = 0; part < parts; part++) {
    const first = starts[part]!;
    const width = starts[part + 1]! - first;
    let [sum, squares] = [0, 0];
    for (let entry = 0; entry < ENTRIES; entry++) {
      const product = dotProduct(query, first, table, ENTRIES * first + entry * width, width);
      entries[part * ENTRIES + entry] = product;
      sum += product;
      squares += product * product;
    }
    variance += squares / ENTRIES - (sum / ENTRIES) ** 2;
  }
  return { entries, slack: SLACK * Math.sqrt(variance) };
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
function addMaxima(sums: Float64Array, { centroids, residuals }: QuestionToken, keys: CodedKeys): void {
  const { starts, codes, at, parts, ratios } = keys;
  const coarse = new Float32Array(at.length); // r q . c
  const floors = new Float32Array(ENTRIES); // by the number of parts
  for (let p = 0; p < sums.length; p++) {
    const [start, end] = [starts[p]!, starts[p + 1]!];
    let nearest = -Infinity;
    for (let t = start; t < end; t++) {
      const product = ratios[t]! * centroids[keys.centroids[t]!]!;
      coarse[t] = product;
      if (product > nearest) nearest = product;
    }
    residuals.forEach(({ slack }, count) => {
      floors[count] = nearest - slack;
    });
    let best = -Infinity;
    for (let t = start; t < end; t++) {
      if (coarse[t]! < floors[parts[t]!]!) continue;
      const { entries } = residuals[parts[t]!]!;
      let residual = 0;
      for (let part = 0; part < parts[t]!; part++)
        residual += entries[part * ENTRIES + codes[at[t]! + part]!]!;
      const product = coarse[t]! + ratios[t]! * residual;
      if (product > best) best = product;
    }
    sums[p]! += best;
  }
}
