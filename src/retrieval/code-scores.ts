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
 * Source: Jégou et al., Product quantization for nearest neighbor search, 2011, section III.A.
 */

import { type Codebook, centroidBytes, ENTRIES, partStarts, readCentroid } from "./codec.ts";
import { dotProduct } from "./score.ts";

/** In standard deviations: more costs time, less loses a maximum now and then. */
const SLACK = 2;

/** Avg-max of a question over the keys of a passage, of which the codes are given. */
export type CodeScorer = (codes: Uint8Array) => number;

/** `centroidProducts` is [centroids, question tokens]. */
export function codeScorer(
  codebook: Codebook,
  question: Float32Array,
  centroidProducts: Float32Array,
): CodeScorer {
  const questionTokens = question.length / codebook.dimension;
  const tables = new Map(
    Array.from(codebook.tables, ([parts, table]) => [parts, entryProducts(question, table, parts)]),
  );
  const leastBytes = centroidBytes(codebook) + 1 + Math.min(...tables.keys()); // of a key
  const best = new Float32Array(questionTokens);
  let coarse = new Float32Array();
  return (codes) => {
    const room = Math.ceil(codes.length / leastBytes) * questionTokens;
    if (coarse.length < room) coarse = new Float32Array(room);
    multiplyCentroids(codes, codebook, centroidProducts, coarse, best);
    for (const { slack, floor } of tables.values())
      for (let i = 0; i < questionTokens; i++) floor[i] = best[i]! - slack[i]!;
    addResiduals(codes, codebook, tables, coarse, best);
    return best.reduce((sum, value) => sum + value, 0) / questionTokens;
  };
}

/** Leaves r q_i . c of all keys in `coarse`, [tokens, question tokens], and the greatest of each question token in `best`. */
function multiplyCentroids(
  codes: Uint8Array,
  codebook: Codebook,
  centroidProducts: Float32Array,
  coarse: Float32Array,
  best: Float32Array,
): void {
  const { parts, ratios } = codebook;
  const idBytes = centroidBytes(codebook);
  best.fill(-Infinity);
  for (let at = 0, to = 0; at < codes.length; ) {
    const centroid = readCentroid(codes, at, idBytes);
    const ratio = ratios[codes[at + idBytes]!]!;
    const row = centroid * best.length;
    for (let i = 0; i < best.length; i++, to++) {
      const product = ratio * centroidProducts[row + i]!;
      coarse[to] = product;
      if (product > best[i]!) best[i] = product;
    }
    at += idBytes + 1 + parts[centroid]!;
  }
}

/** Leaves the greatest q_i . k of each question token in `best`, of the keys that are above the floor. */
function addResiduals(
  codes: Uint8Array,
  codebook: Codebook,
  tables: ReadonlyMap<number, EntryProducts>,
  coarse: Float32Array,
  best: Float32Array,
): void {
  const idBytes = centroidBytes(codebook);
  const step = ENTRIES * best.length;
  best.fill(-Infinity);
  for (let at = 0, from = 0; at < codes.length; ) {
    const parts = codebook.parts[readCentroid(codes, at, idBytes)]!;
    const ratio = codebook.ratios[codes[at + idBytes]!]!;
    const { products, floor } = tables.get(parts)!;
    at += idBytes + 1;
    for (let i = 0; i < best.length; i++, from++) {
      if (coarse[from]! < floor[i]!) continue;
      let residual = 0;
      for (let part = 0, entries = i; part < parts; part++, entries += step)
        residual += products[entries + codes[at + part]! * best.length]!;
      const product = coarse[from]! + ratio * residual;
      if (product > best[i]!) best[i] = product;
    }
    at += parts;
  }
}

interface EntryProducts {
  /** [parts, 256, question tokens] */
  readonly products: Float32Array;
  /** [question tokens] */
  readonly slack: Float32Array;
  /** Of the passage that is scored: the least r q_i . c that residuals can make the greatest. [question tokens] */
  readonly floor: Float32Array;
}

function entryProducts(question: Float32Array, table: Float32Array, parts: number): EntryProducts {
  const dimension = table.length / ENTRIES;
  const questionTokens = question.length / dimension;
  const products = new Float32Array(parts * ENTRIES * questionTokens);
  const variances = new Float64Array(questionTokens);
  const starts = partStarts(dimension, parts);
  for (let part = 0; part < parts; part++) {
    const first = starts[part]!;
    const width = starts[part + 1]! - first;
    for (let i = 0; i < questionTokens; i++) {
      let [sum, squares] = [0, 0];
      for (let entry = 0; entry < ENTRIES; entry++) {
        const at = ENTRIES * first + entry * width;
        const product = dotProduct(question, i * dimension + first, table, at, width);
        products[(part * ENTRIES + entry) * questionTokens + i] = product;
        sum += product;
        squares += product * product;
      }
      variances[i]! += squares / ENTRIES - (sum / ENTRIES) ** 2;
    }
  }
  const slack = Float32Array.from(variances, (variance) => SLACK * Math.sqrt(variance));
  return { products, slack, floor: new Float32Array(questionTokens) };
}
