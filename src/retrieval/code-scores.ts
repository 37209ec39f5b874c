/**
 * Scores of compressed passages, computed on their codes: nothing is decompressed.
 *
 * The product of question token i with a key of centroid c, ratio r and entries e_p is
 *
 *     q_i . k = r (q_i . c + sum_p q_i . e_p)
 *
 * and the products of q_i with all centroids and entries are computed once a question, so a key costs a look-up for each
 * part (asymmetric distance computation). Most keys do not even cost that: what residuals add to q_i . c has a standard
 * deviation of s_i, and where r q_i . c lies more than 2.5 s_i below the best of the passage, the key is passed over.
 * Source: Jégou et al., Product quantization for nearest neighbor search, 2011, section III.A.
 */

import { type Codebook, centroidBytes, ENTRIES, partStarts, readCentroid } from "./codec.ts";
import { dotProduct } from "./score.ts";

/** In standard deviations: more costs time, less loses a maximum now and then. */
const SLACK = 2.5;

/** Avg-max of a question over the keys of a passage, of which the codes are given. */
export type CodeScorer = (codes: Uint8Array) => number;

/** `centroidProducts` is [centroids, question tokens]. */
export function codeScorer(
  codebook: Codebook,
  question: Float32Array,
  centroidProducts: Float32Array,
): CodeScorer {
  const questionTokens = question.length / codebook.dimension;
  const idBytes = centroidBytes(codebook);
  const tables = new Map(
    Array.from(codebook.tables, ([parts, table]) => [parts, entryProducts(question, table, parts)]),
  );
  const nearest = new Float64Array(questionTokens); // r q_i . c of the best key
  const best = new Float64Array(questionTokens);
  return (codes) => {
    nearest.fill(-Infinity);
    for (let at = 0; at < codes.length; ) {
      const centroid = readCentroid(codes, at, idBytes);
      const ratio = codebook.ratios[codes[at + idBytes]!]!;
      const row = centroid * questionTokens;
      for (let i = 0; i < questionTokens; i++) {
        const product = ratio * centroidProducts[row + i]!;
        if (product > nearest[i]!) nearest[i] = product;
      }
      at += idBytes + 1 + codebook.parts[centroid]!;
    }
    best.fill(-Infinity);
    for (let at = 0; at < codes.length; ) {
      const centroid = readCentroid(codes, at, idBytes);
      const ratio = codebook.ratios[codes[at + idBytes]!]!;
      const parts = codebook.parts[centroid]!;
      const row = centroid * questionTokens;
      const { products, slack } = tables.get(parts)!;
      at += idBytes + 1;
      for (let i = 0; i < questionTokens; i++) {
        let product = centroidProducts[row + i]!;
        if (ratio * product + slack[i]! < nearest[i]!) continue;
        for (let part = 0; part < parts; part++)
          product += products[(part * ENTRIES + codes[at + part]!) * questionTokens + i]!;
        if (ratio * product > best[i]!) best[i] = ratio * product;
      }
      at += parts;
    }
    return best.reduce((sum, value) => sum + value, 0) / questionTokens;
  };
}

interface EntryProducts {
  /** [parts, 256, question tokens] */
  readonly products: Float32Array;
  /** [question tokens] */
  readonly slack: Float32Array;
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
  return { products, slack: Float32Array.from(variances, (variance) => SLACK * Math.sqrt(variance)) };
}
