/** The interface of a search engine: it finds the best passages of a store for a question. */

import type { Ranking } from "../scoring/top-k.ts";
import type { Keys } from "./rescore.ts";

export interface SearchRequest {
  readonly topK: number;
  /** Whether the search may return the passage. False for deleted passages. */
  readonly accept: (ordinal: number) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Scores that are not exact. */
export interface Estimates extends Ranking {
  /** The exact score of a passage differs by at most this. */
  readonly error: number;
}

export type Estimate = (
  question: Float32Array,
  request: SearchRequest,
  others: Uint32Array,
) => Promise<{ readonly candidates: Estimates; readonly others: Estimates }>;

export interface SearchEngine extends AsyncDisposable {
  /**
   * For each question, [tokens, dimension], the `topK` best accepted passages, best first, equal
   * scores in the order of the index (`ranked`). The scores are exact (rescore.ts).
   */
  search(questions: readonly Float32Array[], request: SearchRequest): Promise<Ranking[]>;
  /**
   * Estimates the passages of which `search` returns the `topK` best, and the passages `others`: a
   * hybrid search needs few exact scores. Left out by an engine whose exact scores cost little.
   */
  readonly estimate?: Estimate | undefined;
  /** The keys of the store, where the engine has some of them in memory. */
  readonly keys?: Keys | undefined;
}
