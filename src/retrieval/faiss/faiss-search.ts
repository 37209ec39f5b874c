/**
 * Exact search on faiss-node: an inner-product index over all tokens as the first pass, rescoring as the second.
 *
 * Why it is exact. faiss returns for each question token i the K' best tokens of the index; let s_i be the last of
 * their products. A token that was not returned for i has a product of at most s_i. So for any passage
 *
 *     score = mean_i max_j q_i . k_j  <=  mean_i max(seen_i, s_i)
 *
 * where seen_i is the best product of its tokens that were returned for i (-inf if none was), and a passage none of
 * whose tokens was returned scores at most mean_i s_i. Passages are rescored in the order of this bound until it falls
 * below the K-th exact score; if the bound of the unseen does not, K' is doubled. When K' is all tokens, none is unseen.
 * Bounds get a margin for the rounding of float32 products (engine.ts).
 *
 * faiss-node takes arrays of numbers, blocks while it searches, and keeps all keys in memory: 4 bytes a number.
 */

import type { KeyStore } from "../index/format/store.ts";
import { avgMax } from "../scoring/score.ts";
import { byScore, type ScoredPassage } from "../scoring/top-k.ts";
import { float32Error, type Search, type SearchEngine } from "../search/engine.ts";
import { FIRST_TOKENS, scoreByHits } from "../search/token-hits.ts";
import { type FilledIndex, fillIndex, findTokens, loadFaiss } from "./faiss.ts";

/** Throws `InputError` where faiss-node is not installed. The index is filled by the first search. */
export async function openFaissSearch(store: KeyStore): Promise<SearchEngine> {
  const { IndexFlatIP } = await loadFaiss();
  let filled: Promise<FilledIndex> | undefined;
  return {
    async search(questions, search) {
      filled ??= fillIndex(new IndexFlatIP(store.dimension), store);
      const index = await filled;
      const found = [];
      for (const question of questions) found.push(await searchOne(store, index, question, search));
      return found;
    },
    async [Symbol.asyncDispose]() {
      filled = undefined;
    },
  };
}

async function searchOne(
  store: KeyStore,
  index: FilledIndex,
  question: Float32Array,
  { topK, accept, signal }: Search,
): Promise<ScoredPassage[]> {
  const margin = float32Error(question, store);
  const scored = new Map<number, ScoredPassage>();
  for (let count = FIRST_TOKENS; ; count *= 2) {
    signal?.throwIfAborted();
    const all = count >= store.keyCount;
    const hits = findTokens(index, question, store.dimension, all ? store.keyCount : count);
    const { seen, unseen } = scoreByHits(hits);
    let best: ScoredPassage[] = [];
    const isOut = (bound: number) => best.length === topK && bound + margin < best.at(-1)!.score;
    for (const { ordinal, score: bound } of seen) {
      if (isOut(bound)) break;
      if (!accept(ordinal)) continue;
      if (!scored.has(ordinal))
        scored.set(ordinal, {
          ordinal,
          score: avgMax(question, await store.keys(ordinal), store.dimension),
        });
      best = insert(best, scored.get(ordinal)!, topK);
    }
    if (all || isOut(unseen)) return best;
  }
}

function insert(
  best: readonly ScoredPassage[],
  passage: ScoredPassage,
  topK: number,
): ScoredPassage[] {
  const at = best.findLastIndex((other) => byScore(other, passage) < 0) + 1;
  return at < topK ? best.toSpliced(at, 0, passage).slice(0, topK) : [...best];
}
