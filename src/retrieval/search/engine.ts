/** What finds the best passages of a store, and the second pass that all such engines share. */

import { rotate } from "../codec/opq-rotation.ts";
import { type KeyPiece, type KeyStore, PIECE_TOKENS } from "../index/format/store.ts";
import type { MatMul } from "../scoring/matmul.ts";
import { dotProduct } from "../scoring/score.ts";
import { type ScoredPassage, TopK } from "../scoring/top-k.ts";

export interface Search {
  readonly topK: number;
  /** Whether a passage may be found. Of deleted ones this says no. */
  readonly accept: (ordinal: number) => boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface SearchEngine extends AsyncDisposable {
  /** For each question ([tokens, dimension]) the best accepted passages, in the order of `byScore`, with exact scores. */
  search(questions: readonly Float32Array[], search: Search): Promise<ScoredPassage[][]>;
}

/** `engine` for a store whose keys are in the coordinates of `axes` (axes.ts). */
export const inCoordinates = (engine: SearchEngine, axes: Float32Array): SearchEngine => {
  const dimension = Math.sqrt(axes.length);
  return {
    search: (questions, search) =>
      engine.search(
        questions.map((question) => rotate(question, axes, dimension)),
        search,
      ),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
};

/**
 * The best of some passages by the score over all their tokens, as `avgMax` computes it.
 *
 * Only products that can be the maximum are computed in float64: those whose float32 product, on onnxruntime, is within
 * the rounding of the greatest.
 */
export async function rescore(
  store: Pick<KeyStore, "dimension" | "longestKey" | "keys">,
  products: MatMul,
  question: Float32Array,
  ordinals: Uint32Array,
  topK: number,
): Promise<ScoredPassage[]> {
  const best = new TopK(topK);
  for await (const piece of gatherPieces(store, ordinals)) {
    const scores = exactScores(
      question,
      piece,
      await products.multiply(question, piece.keys),
      store,
    );
    for (const [p, ordinal] of piece.ordinals.entries()) best.push(ordinal, scores[p]!);
  }
  return best.take().slice(0, topK);
}

/** Avg-max of the passages of a piece. `products` is [question tokens, tokens of the piece], in float32. */
function exactScores(
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

/** The keys of passages from anywhere, side by side. */
async function* gatherPieces(
  store: Pick<KeyStore, "dimension" | "keys">,
  ordinals: Uint32Array,
): AsyncGenerator<KeyPiece> {
  let from = 0;
  let parts: Float32Array[] = [];
  let starts = [0];
  for (const [i, ordinal] of ordinals.entries()) {
    const keys = await store.keys(ordinal);
    parts.push(keys);
    starts.push(starts.at(-1)! + keys.length / store.dimension);
    if (starts.at(-1)! < PIECE_TOKENS && i + 1 < ordinals.length) continue;
    const all = new Float32Array(starts.at(-1)! * store.dimension);
    for (const [p, part] of parts.entries()) all.set(part, starts[p]! * store.dimension);
    yield { ordinals: ordinals.subarray(from, i + 1), starts: Uint32Array.from(starts), keys: all };
    from = i + 1;
    parts = [];
    starts = [0];
  }
}

/**
 * How far an avg-max over float32 products can be from the exact one, whatever the order of summation:
 *
 *     e = (1/n) sum_i g |q_i| max_j |k_j|,   g = d u / (1 - d u),   u = 2^-24
 *
 * since a float32 product of d terms is off by at most g sum |q||k| <= g |q| |k|, and neither maximum nor mean adds to
 * the largest error. So every passage of the exact top K has a float32 score of at least t - e, where t is the exact
 * K-th; the K-th float32 score is at most t + e; what is more than 2e below it cannot be among the K.
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
