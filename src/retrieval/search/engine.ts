/** The interface of a search engine: it finds the best passages of a store for a question. */

import type { Ranking } from "../scoring/top-k.ts";
import type { Keys } from "./rescore.ts";

export interface SearchRequest {
  readonly topK: number;
  /** Whether the search may return the passage. False for deleted passages. */
  readonly accept: (ordinal: number) => boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface SearchEngine extends AsyncDisposable {
  /**
   * For each question, [tokens, dimension], the `topK` best accepted passages, best first, equal
   * scores in the order of the index (`ranked`). The scores are exact (rescore.ts).
   */
  search(questions: readonly Float32Array[], request: SearchRequest): Promise<Ranking[]>;
  /** The keys of the store, where the engine has some of them in memory. */
  readonly keys?: Keys | undefined;
}
