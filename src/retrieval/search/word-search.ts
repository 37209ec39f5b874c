/**
 * The interface of a search by words (BM25): in memory (bm25/), in the files of an index
 * (stored-words.ts) or in a store (store/).
 */

import type { Analyser } from "../../text/terms.ts";
import type { ScoreParameters } from "../bm25/bm25.ts";
import type { Awaitable } from "../index/blocks/awaitable.ts";
import type { Ranking } from "../scoring/top-k.ts";

export interface WordSearch {
  /** What makes the terms. */
  readonly analyser: Analyser;
  /** The `topK` best passages that share a term with the query, best first. */
  rank(
    query: string,
    topK: number,
    options: ScoreParameters & { readonly accept?: ((ordinal: number) => boolean) | undefined },
  ): Awaitable<Ranking>;
  /** The score of each passage of `ordinals`; 0 for one without a term of the query. */
  score(
    query: string,
    ordinals: Uint32Array,
    parameters?: ScoreParameters,
  ): Awaitable<Float64Array>;
  /** The passages with all these terms, ascending. Undefined for a store. */
  having?(terms: readonly string[]): Awaitable<Uint32Array>;
}
