/**
 * Exact search on faiss-node: an inner-product index over all tokens is the first pass, rescoring
 * is the second.
 *
 * Why it is exact: faiss returns for each question token i the K' best tokens of the index. Let
 * s_i be the last of their products. The product of any other token with q_i is at most s_i, so
 * for every passage
 *
 *     score = mean_i max_j q_i . k_j  <=  mean_i max(seen_i, s_i)
 *
 * where seen_i is the best product of its tokens that were returned for i (-inf if none was). A
 * passage with no returned token scores at most mean_i s_i. Passages are rescored in the order of
 * this bound until the bound falls below the K-th exact score. If the bound of the other passages
 * does not, K' is doubled. If K' is all tokens, there are no other passages.
 * The bounds get a margin for the rounding of float32 products (rescore.ts).
 *
 * faiss-node takes JavaScript arrays, blocks while it searches, and keeps all keys in memory:
 * 4 bytes a value.
 */

import type { KeyStore } from "../index/format/store.ts";
import { type MatMul, openMatMul } from "../scoring/matmul.ts";
import { type Ranking, TopK } from "../scoring/top-k.ts";
import type { SearchEngine, SearchRequest } from "../search/engine.ts";
import { exactScores, float32Error } from "../search/rescore.ts";
import { FIRST_TOKENS, scoreByHits } from "../search/token-hits.ts";
import { type FilledIndex, fillIndex, findTokens, loadFaiss } from "./faiss.ts";

/** Passages that are rescored between two looks at the bound. */
const RESCORE_BATCH = 64;

/**
 * Opens the engine. The first search fills the index.
 *
 * @throws {InputError} if faiss-node is not installed
 */
export async function openFaissSearch(
  store: KeyStore,
  threads: number | undefined,
): Promise<SearchEngine> {
  const { IndexFlatIP } = await loadFaiss();
  const matmul = await openMatMul(store.dimension, threads);
  let filled: Promise<FilledIndex> | undefined;
  return {
    async search(questions, request) {
      filled ??= fillIndex(new IndexFlatIP(store.dimension), store);
      const index = await filled;
      const found = [];
      for (const question of questions)
        found.push(await searchOne(store, index, matmul, question, request));
      return found;
    },
    async [Symbol.asyncDispose]() {
      filled = undefined;
      await matmul[Symbol.asyncDispose]();
    },
  };
}

async function searchOne(
  store: KeyStore,
  index: FilledIndex,
  matmul: MatMul,
  question: Float32Array,
  { topK, accept, signal }: SearchRequest,
): Promise<Ranking> {
  const margin = float32Error(question, store);
  const best = new TopK(topK);
  const scored = new Set<number>();
  const isOut = (bound: number) => {
    const last = best.take().scores[topK - 1];
    return last !== undefined && bound + margin < last;
  };
  for (let count = FIRST_TOKENS; ; count *= 2) {
    signal?.throwIfAborted();
    const all = count >= store.keyCount;
    const hits = findTokens(index, question, store.dimension, all ? store.keyCount : count);
    const { seen, unseen } = scoreByHits(hits);
    const isOpen = (ordinal: number) => accept(ordinal) && !scored.has(ordinal);
    const bounds = seen.scores.filter((_, i) => isOpen(seen.ordinals[i]!));
    const open = seen.ordinals.filter(isOpen);
    for (let first = 0; first < open.length && !isOut(bounds[first]!); first += RESCORE_BATCH) {
      const batch = open.subarray(first, first + RESCORE_BATCH);
      const scores = await exactScores(store, matmul, question, batch);
      for (const [i, ordinal] of batch.entries()) {
        scored.add(ordinal);
        best.push(ordinal, scores[i]!);
      }
    }
    if (all || isOut(unseen)) return best.take(topK);
  }
}
