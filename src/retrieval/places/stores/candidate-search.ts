/** The search engine of an index in a store: the store finds candidates, and all are rescored. */

import type { Ranking } from "../../scoring/top-k.ts";
import type { SearchEngine, SearchRequest } from "../../search/engine.ts";
import type { PassageScorer } from "../../search/passage-scorer.ts";
import { meanRow } from "./candidate-vector.ts";
import type { StoreFilters } from "./filters.ts";
import type { Store } from "./store.ts";
import type { StoredPassages } from "./stored-passages.ts";

export interface CandidateSearch {
  readonly store: Store;
  readonly passages: StoredPassages;
  readonly filters: StoreFilters;
  readonly scorer: PassageScorer;
  /** The least number of candidates of a question. */
  readonly candidates: number;
}

/** Candidates for each passage that is asked for, where these are many. */
export const CANDIDATES_PER_HIT = 2;

export function openCandidateSearch(parts: CandidateSearch): SearchEngine {
  return {
    search: (questions, request) =>
      Promise.all(questions.map((question) => searchOne(parts, question, request))),
    async [Symbol.asyncDispose]() {},
  };
}

/** With a filter that the store does not apply, it is asked for more candidates until some pass. */
async function searchOne(
  { store, passages, filters, scorer, candidates }: CandidateSearch,
  question: Float32Array,
  { topK, accept, signal }: SearchRequest,
): Promise<Ranking> {
  const vector = meanRow(question, passages.dimension);
  const selection = filters.toStore(accept);
  for (let count = Math.max(candidates, CANDIDATES_PER_HIT * topK); ; count *= 4) {
    signal?.throwIfAborted();
    const found = await store.nearest(vector, { count, ...selection });
    const ordinals = passages.add(found).filter(accept);
    if (ordinals.length < topK && found.length === count) continue;
    const [ranking] = await scorer.best([question], ordinals, topK, signal);
    return ranking!;
  }
}
