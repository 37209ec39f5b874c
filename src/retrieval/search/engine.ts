/** The interface of a search engine: it finds the best passages of a store for a question. */

import type { Ranking } from "../scoring/top-k.ts";
import type { Keys } from "./rescore.ts";

export interface SearchRequest {
  readonly topK: number;
  /** Whether the search may return the passage. False for deleted passages. */
  readonly accept: (ordinal: number) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Searches for questions, each with passages of its own that it scores too. */
export type SearchAlso = (
  questions: readonly Float32Array[],
  also: readonly Uint32Array[],
  request: SearchRequest,
) => Promise<Ranking[]>;

export interface SearchEngine extends AsyncDisposable {
  /**
   * For each question, [tokens, dimension], the `topK` best accepted passages, best first, equal
   * scores in the order of the index (`ranked`). The scores are exact (rescore.ts).
   */
  search(questions: readonly Float32Array[], request: SearchRequest): Promise<Ranking[]>;
  /**
   * As `search`, and each ranking has the accepted passages `also` of its question too. Left out by
   * an engine whose search takes as long for few hits as for many.
   */
  readonly searchAlso?: SearchAlso | undefined;
  /** The keys of the store, where the engine has some of them in memory. */
  readonly keys?: Keys | undefined;
}

/** An engine that chooses candidates: a search for few hits scores few passages. */
export interface CandidateEngine extends SearchEngine {
  readonly searchAlso: SearchAlso;
}

/** Both searches of an engine. */
export const searchesOf = (
  searchAlso: SearchAlso,
): Pick<CandidateEngine, "search" | "searchAlso"> => ({
  search: (questions, request) =>
    searchAlso(
      questions,
      questions.map(() => new Uint32Array()),
      request,
    ),
  searchAlso,
});
