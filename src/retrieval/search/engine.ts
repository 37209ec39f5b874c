/** The interface of a search engine: it finds the best passages of a store for a question. */

import type { Ranking } from "../scoring/top-k.ts";
import type { Keys } from "./rescore.ts";

export interface SearchRequest {
  readonly topK: number;
  /** Whether the search may return the passage. False for deleted passages. */
  readonly accept: (ordinal: number) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Passages with scores that are not exact. */
export interface Candidates {
  /** Those of which a search returns the best, ascending. */
  readonly ordinals: Uint32Array;
  /** The exact score of a passage differs from its estimate by at most this. */
  readonly error: number;
  /** The estimates of passages, of any that are not deleted. */
  estimates(ordinals: Uint32Array): Promise<Float64Array>;
  /** Their exact scores. */
  exact(ordinals: Uint32Array): Promise<Float64Array>;
}

export type UseCandidates = <Result>(
  question: Float32Array,
  request: SearchRequest,
  use: (candidates: Candidates) => Promise<Result>,
) => Promise<Result>;

export interface SearchEngine extends AsyncDisposable {
  /**
   * For each question, [tokens, dimension], the `topK` best accepted passages, best first, equal
   * scores in the order of the index (`ranked`). The scores are exact (rescore.ts).
   */
  search(questions: readonly Float32Array[], request: SearchRequest): Promise<Ranking[]>;
  /**
   * Calls `use` with the passages of which `search` returns the `topK` best: a hybrid search needs
   * few exact scores. Left out by an engine whose exact scores cost little.
   */
  readonly useCandidates?: UseCandidates | undefined;
  /** The keys of the store, where the engine has some of them in memory. */
  readonly keys?: Keys | undefined;
}
