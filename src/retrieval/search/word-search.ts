/**
 * The interface of a search by words (BM25): in memory (bm25/), in the files of an index
 * (stored-words.ts) or in a store (store/).
 */

import type { Analyser } from "../../text/terms.ts";
import type { Awaitable } from "../index/blocks/awaitable.ts";
import type { Ranking } from "../scoring/top-k.ts";

interface Parameters {
  readonly k1?: number | undefined;
  readonly b?: number | undefined;
}

export interface WordSearch {
  /** What makes the terms. */
  readonly analyser: Analyser;
  /** The `topK` best passages that share a term with the query, best first. */
  rank(
    query: string,
    topK: number,
    options: Parameters & { readonly accept?: ((ordinal: number) => boolean) | undefined },
  ): Awaitable<Ranking>;
  /** The score of each passage of `ordinals`; 0 for one without a term of the query. */
  score(query: string, ordinals: Uint32Array, parameters?: Parameters): Awaitable<Float64Array>;
}
