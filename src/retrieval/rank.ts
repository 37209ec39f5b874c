/** Ranks passages or documents for questions, by the retrieval score or by hybrid search. */

import { type RankPassages, rankDocuments } from "./documents.ts";
import { type EncodedQuestion, type HybridOptions, hybridSearch } from "./hybrid.ts";
import {
  checkTopK,
  type SearchHit,
  type SearchOptions,
  type TokenIndex,
} from "./search/token-index.ts";

/**
 * What a search counts and returns: passages, or documents, each with its best passage
 * (documents.ts).
 */
export type Granularity = "passage" | "document";

export interface RankOptions extends SearchOptions {
  /** Default `passage`. */
  readonly granularity?: Granularity | undefined;
  /** Ranks by BM25 and the model together. Default: by the model alone. */
  readonly hybrid?: HybridOptions | undefined;
}

/**
 * Returns for each question the `topK` best passages or documents, best first.
 *
 * @throws {InputError} if `topK` or an option of `hybrid` is out of range
 */
export async function rank(
  index: TokenIndex,
  questions: readonly EncodedQuestion[],
  { topK, granularity = "passage", hybrid, ...search }: RankOptions,
): Promise<SearchHit[][]> {
  checkTopK(topK);
  const rankPassages: RankPassages<EncodedQuestion> = (asked, count) => {
    const options = { ...search, topK: count };
    if (hybrid) return hybridSearch(index, hybrid, asked, options);
    return index.searchBatch(
      asked.map(({ vectors }) => vectors),
      options,
    );
  };
  return granularity === "document"
    ? rankDocuments(index, rankPassages, questions, topK)
    : rankPassages(questions, topK);
}
