/**
 * Scores of compressed passages, computed on their codes: nothing is decompressed.
 *
 * The product of question token i with a key of centroid c, ratio r and entries e_p is
 *
 *     q_i . k = r (q_i . c + sum_p q_i . e_p)
 *
 * and the products of q_i with all centroids and entries are computed once a question, so a key costs a look-up for each
 * part (asymmetric distance computation). Most keys do not even cost that. A token's best key is mostly one of a centroid that is
 * near to the token, so only such keys are looked at; and what residuals add to q_i . c has a standard deviation of s_i: where
 * r q_i . c lies 2 s_i below the best product of the passage so far, the key is passed over.
 * Source: Jégou et al., Product quantization for nearest neighbor search, 2011, section III.A.
 */

import { type Codebook, centroidBytes, ENTRIES, partStarts, readCentroid } from "../compression/codec.ts";
import { dotProduct } from "./score.ts";

/** In standard deviations: more costs time, less loses a maximum now and then. */
const SLACK = 2;

/** Avg-max of a question over keys of a passage, of which the codes are given. */
export type CodeScorer = (codes: Uint8Array) => number;

/**
 * Makes scorers for a question, of which the products with all centroids are given: [question tokens, centroids]. Question token i looks at
 * the keys of the centroids with which its product is `thresholds[i]` or more, and counts as `thresholds[i]` where there is none.
 */
export function codeScorers(
  codebook: Codebook,
  question: Float32Array,
  centroidProducts: Float32Array,
): (thresholds: Float32Array) => CodeScorer {
  const products = productsOf(codebook, question, centroidProducts);
  const maxima = new Float32Array(products.tokens);
  return (thresholds) => {
    const readers = readersOf(thresholds, codebook, products);
    return (codes) => {
      maxima.set(thresholds);
      raise(maxima, codes, codebook, products, readers);
      return mean(maxima);
    };
  };
}

const mean = (values: Float32Array): number => {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
};

/** What the products of a question's tokens with keys are made of: flat, since it is looked up millions of times. */
interface QuestionProducts {
  readonly tokens: number;
  /** [tokens, centroids] */
  readonly centroids: Float32Array;
  /** With the entries of each part: [tokens, tables], a table being [parts, 256]. */
  readonly entries: Float32Array;
  /** Numbers of a token in `entries`. */
  readonly stride: number;
  /** By the number of parts: where the table begins among those of a token. */
  readonly tableStarts: Int32Array;
  /** [tokens, dimension + 1], by the number of parts: how far residuals can be expected to move a product. */
  readonly slacks: Float32Array;
}

function productsOf(
  { dimension, tables }: Codebook,
  question: Float32Array,
  centroids: Float32Array,
): QuestionProducts {
  const tokens = question.length / dimension;
  const tableStarts = new Int32Array(dimension + 1);
  let stride = 0;
  for (const parts of tables.keys()) {
    tableStarts[parts] = stride;
    stride += parts * ENTRIES;
  }
  const entries = new Float32Array(tokens * stride);
  const slacks = new Float32Array(tokens * (dimension + 1));
  for (let i = 0; i < tokens; i++) {
    const query = question.subarray(i * dimension, (i + 1) * dimension);
    for (const [parts, table] of tables) {
      const products = entryProducts(query, table, parts);
      entries.set(products, i * stride + tableStarts[parts]!);
      slacks[i * (dimension + 1) + parts] = SLACK * deviation(products);
    }
  }
  return { tokens, centroids, entries, stride, tableStarts, slacks };
}

/** [parts, 256] */
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

/** The question tokens that look at the keys of each centroid. */
interface Readers {
  /** [centroids + 1]: those of centroid c stand from `starts[c]` up to `starts[c + 1]`. */
  readonly starts: Int32Array;
  readonly tokens: Int32Array;
  /** Of each of them, the product with the centroid. */
  readonly coarse: Float32Array;
}

function readersOf(
  thresholds: Float32Array,
  { parts: { length: count } }: Codebook,
  { centroids }: QuestionProducts,
): Readers {
  const starts = new Int32Array(count + 1);
  for (let i = 0; i < thresholds.length; i++)
    for (let c = 0; c < count; c++) if (centroids[i * count + c]! >= thresholds[i]!) starts[c + 1]!++;
  for (let c = 0; c < count; c++) starts[c + 1]! += starts[c]!;
  const next = starts.slice();
  const tokens = new Int32Array(starts[count]!);
  const coarse = new Float32Array(starts[count]!);
  for (let i = 0; i < thresholds.length; i++)
    for (let c = 0; c < count; c++) {
      const product = centroids[i * count + c]!;
      if (product < thresholds[i]!) continue;
      tokens[next[c]!] = i;
      coarse[next[c]!++] = product;
    }
  return { starts, tokens, coarse };
}

/** Raises the maximum of each question token to its products with the keys that it looks at. */
function raise(
  maxima: Float32Array,
  codes: Uint8Array,
  codebook: Codebook,
  { entries, stride, tableStarts, slacks }: QuestionProducts,
  { starts, tokens, coarse }: Readers,
): void {
  const { ratios, parts: partCounts } = codebook;
  const idBytes = centroidBytes(codebook);
  for (let at = 0; at < codes.length; ) {
    const centroid = readCentroid(codes, at, idBytes);
    const parts = partCounts[centroid]!;
    const first = at + idBytes + 1;
    for (let reader = starts[centroid]!, end = starts[centroid + 1]!; reader < end; reader++) {
      const i = tokens[reader]!;
      const ratio = ratios[codes[at + idBytes]!]!;
      const product = ratio * coarse[reader]!;
      if (product + slacks[i * tableStarts.length + parts]! <= maxima[i]!) continue;
      const residual = sumOfEntries(entries, i * stride + tableStarts[parts]!, codes, first, parts);
      if (product + ratio * residual > maxima[i]!) maxima[i] = product + ratio * residual;
    }
    at = first + parts;
  }
}

/** Of the entries that the `count` bytes from `at` on name, one of each part of the table that begins at `first`. */
function sumOfEntries(
  entries: Float32Array,
  first: number,
  codes: Uint8Array,
  at: number,
  count: number,
): number {
  let sum = 0;
  for (let part = 0; part < count; part++) sum += entries[first + part * ENTRIES + codes[at + part]!]!;
  return sum;
}
