/**
 * The retrieval score of a passage p for a question q, from all token keys of the passage:
 *
 *     f(p, q) = (1/n) * sum over i of max over j of  q_i . k_j
 *
 * q is [n, dimension] and k is [passage tokens, dimension]. The product is raw: no normalisation
 * and no scaling. Source: Retrieval as Attention (ReAtt), Eq. 1.
 *
 * Every score that a search returns comes from this file, or from rescore-codes.ts, which computes
 * the same products. The engines compute other numbers in their first pass, to choose candidates:
 * flat-search.ts sums float32 maxima, code-scores.ts works on compressed codes, and token-hits.ts
 * bounds scores from the nearest tokens.
 */

import type { AllocateValues } from "../codec/codec.ts";
import type { KeyPiece, KeyStore } from "../index/format/store.ts";
import type { MatMul } from "../scoring/matmul.ts";
import { type Ranking, ranked } from "../scoring/top-k.ts";
import { dotProduct } from "../scoring/vectors.ts";

/** The part of a store that rescoring reads. */
export interface Keys extends Pick<KeyStore, "dimension" | "longestKey"> {
  /** The keys of one passage: [tokens, dimension]. They may be in memory from `allocate`. */
  keys(ordinal: number, allocate?: AllocateValues): Promise<Float32Array>;
}

/** Scores the passages `ordinals` for `question`, and returns the `topK` best. */
export async function rescore(
  store: Keys,
  matmul: MatMul,
  question: Float32Array,
  ordinals: Uint32Array,
  topK: number,
): Promise<Ranking> {
  return ranked({ ordinals, scores: await exactScores(store, matmul, question, ordinals) }, topK);
}

/**
 * The score of each of the passages `ordinals` for `question`, [tokens, dimension].
 *
 * Products are summed in float64, so the score of a pair does not depend on the engine, the
 * threads or the batch.
 */
export async function exactScores(
  store: Keys,
  matmul: MatMul,
  question: Float32Array,
  ordinals: Uint32Array,
): Promise<Float64Array> {
  const scores = new Float64Array(ordinals.length);
  let first = 0;
  for await (const piece of gatherPieces(store, ordinals)) {
    const products = await matmul.multiply(question, piece.keys);
    scores.set(pieceScores(question, piece, products, store), first);
    first += piece.ordinals.length;
  }
  return scores;
}

/**
 * The scores of the passages of a piece.
 *
 * `products`, [question tokens, tokens of the piece], is float32. The product of a token is
 * computed again in float64 if its float32 product is within the rounding error of the greatest:
 * no other token can be the maximum.
 */
function pieceScores(
  question: Float32Array,
  { starts, keys }: KeyPiece,
  products: Float32Array,
  { dimension, longestKey }: Pick<KeyStore, "dimension" | "longestKey">,
): Float64Array {
  const tokens = starts.at(-1)!;
  const questionTokens = question.length / dimension;
  const scores = new Float64Array(starts.length - 1);
  for (let i = 0; i < questionTokens; i++) {
    const query = question.subarray(i * dimension, (i + 1) * dimension);
    const margin = 2 * float32Error(query, { dimension, longestKey });
    const row = products.subarray(i * tokens, (i + 1) * tokens);
    for (let p = 0; p < scores.length; p++) {
      let greatest = -Infinity;
      for (let t = starts[p]!; t < starts[p + 1]!; t++) if (row[t]! > greatest) greatest = row[t]!;
      let best = -Infinity;
      for (let t = starts[p]!; t < starts[p + 1]!; t++)
        if (row[t]! >= greatest - margin)
          best = Math.max(best, dotProduct(query, 0, keys, t * dimension, dimension));
      scores[p]! += best;
    }
  }
  return scores.map((sum) => sum / questionTokens);
}

/** Tokens of gathered keys: few, so that their memory is used again and stays in a cache. */
const GATHERED_TOKENS = 2_048;

/** Memory that no call uses. The first use of new memory takes longer than the products. */
const idle: Float32Array[] = [];

/** Values of the memory that is kept: 16 MB. */
const MOST_KEPT = 2 ** 22;

/**
 * Reads the keys of passages from anywhere in the store, in pieces of about `GATHERED_TOKENS`. A
 * piece is valid until the next one.
 */
async function* gatherPieces(
  store: Pick<Keys, "dimension" | "keys">,
  ordinals: Uint32Array,
): AsyncGenerator<KeyPiece> {
  let memory = idle.pop() ?? new Float32Array();
  let used = 0;
  const allocate = (values: number): Float32Array => {
    if (used + values > memory.length) {
      const larger = new Float32Array(2 * (used + values));
      larger.set(memory.subarray(0, used));
      memory = larger;
    }
    return memory.subarray(used, used + values);
  };
  let from = 0;
  let starts = [0];
  for (const [i, ordinal] of ordinals.entries()) {
    const keys = await store.keys(ordinal, allocate);
    if (keys.buffer !== memory.buffer) allocate(keys.length).set(keys);
    used += keys.length;
    starts.push(used / store.dimension);
    if (starts.at(-1)! < GATHERED_TOKENS && i + 1 < ordinals.length) continue;
    const piece = { ordinals: ordinals.subarray(from, i + 1), starts: Uint32Array.from(starts) };
    yield { ...piece, keys: memory.subarray(0, used) };
    from = i + 1;
    used = 0;
    starts = [0];
  }
  if (memory.length <= MOST_KEPT) idle.push(memory);
}

/**
 * A bound on the difference between the score from float32 products and the exact score, for any
 * order of summation:
 *
 *     e = (1/n) sum_i g |q_i| max_j |k_j|,   g = d u / (1 - d u),   u = 2^-24
 *
 * A float32 product of d terms is off by at most g sum |q||k| <= g |q| |k|, and neither maximum
 * nor mean makes the largest error larger. So every passage of the exact top K has a float32 score
 * of at least t - e, where t is the exact K-th score. The K-th float32 score is at most t + e. A
 * passage more than 2e below it cannot be in the top K.
 * Source: Higham, Accuracy and Stability of Numerical Algorithms, section 3.1.
 */
export function float32Error(
  question: Float32Array,
  { dimension, longestKey }: Pick<KeyStore, "dimension" | "longestKey">,
): number {
  const u = 2 ** -24;
  const g = (dimension * u) / (1 - dimension * u);
  let lengths = 0;
  for (let i = 0; i < question.length; i += dimension)
    lengths += Math.sqrt(dotProduct(question, i, question, i, dimension));
  return (g * lengths * longestKey * dimension) / question.length;
}
