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

/** Centroids whose lists the tokens of a question read. */
export interface ProbedCentroids {
  /** Of each question token. */
  readonly centroids: readonly (readonly number[])[];
  /** What a question token is taken to score with a passage that has no key of its centroids. */
  readonly bounds: Float32Array;
}

/** Avg-max of a question over the keys of each of some passages, of which the codes are given. */
export interface CodeScorer {
  score(passages: readonly Uint8Array[]): Float64Array;
  /** The same over the keys of probed centroids alone, which are one in twenty. */
  scoreProbed(passages: readonly Uint8Array[], probed: ProbedCentroids): Float64Array;
}

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
  return {
    score(passages) {
      const keys = readCodes(passages, codebook);
      const sums = new Float64Array(passages.length);
      for (const token of tokens) addMaxima(sums, token, keys);
      return sums.map((sum) => sum / tokens.length);
    },
    scoreProbed(passages, probed) {
      const readers = readersOf(probed, count);
      return Float64Array.from(
        passages,
        (codes) => sumOfProbed(codes, codebook, tokens, readers, probed.bounds) / tokens.length,
      );
    },
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
      const product = coarse + ratios[t]! * sumOfEntries(entries[count]!, codes, at[t]!, count);
      if (product > best) best = product;
    }
    sums[p]! += best;
  }
}

/** The question tokens that read the list of each centroid c: `tokens` from `starts[c]` up to `starts[c + 1]`. */
interface Readers {
  readonly starts: Uint32Array;
  readonly tokens: Uint32Array;
}

function readersOf({ centroids }: ProbedCentroids, count: number): Readers {
  const starts = new Uint32Array(count + 1);
  for (const probed of centroids) for (const centroid of probed) starts[centroid + 1]!++;
  for (let centroid = 0; centroid < count; centroid++) starts[centroid + 1]! += starts[centroid]!;
  const next = starts.slice();
  const tokens = new Uint32Array(starts[count]!);
  for (const [i, probed] of centroids.entries()) for (const centroid of probed) tokens[next[centroid]!++] = i;
  return { starts, tokens };
}

/** The sum of the maxima of a passage, over the keys whose centroids each question token has read. */
function sumOfProbed(
  codes: Uint8Array,
  codebook: Codebook,
  questionTokens: readonly QuestionToken[],
  { starts, tokens }: Readers,
  bounds: Float32Array,
): number {
  const idBytes = centroidBytes(codebook);
  const { parts, ratios } = codebook;
  const maxima = bounds.slice();
  for (let at = 0; at < codes.length; ) {
    const centroid = readCentroid(codes, at, idBytes);
    const count = parts[centroid]!;
    const code = at + idBytes + 1;
    for (let reader = starts[centroid]!; reader < starts[centroid + 1]!; reader++) {
      const i = tokens[reader]!;
      const { centroids, entries, slacks } = questionTokens[i]!;
      const ratio = ratios[codes[at + idBytes]!]!;
      const coarse = ratio * centroids[centroid]!;
      if (coarse + slacks[count]! <= maxima[i]!) continue;
      maxima[i] = Math.max(maxima[i]!, coarse + ratio * sumOfEntries(entries[count]!, codes, code, count));
    }
    at = code + count;
  }
  let sum = 0;
  for (let i = 0; i < maxima.length; i++) sum += maxima[i]!;
  return sum;
}

/** Of the entries that the `count` bytes from `at` on name, one of each part. */
function sumOfEntries(entries: Float32Array, codes: Uint8Array, at: number, count: number): number {
  let sum = 0;
  for (let part = 0; part < count; part++) sum += entries[part * ENTRIES + codes[at + part]!]!;
  return sum;
}
