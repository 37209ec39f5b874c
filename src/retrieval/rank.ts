/** What an index has for questions: passages or documents, by the score of the model or with BM25. */

import { type RankPassages, rankDocuments } from "./documents.ts";
import { type HybridOptions, hybridSearch, type Question } from "./hybrid.ts";
import {
  checkTopK,
  type SearchHit,
  type SearchOptions,
  type TokenIndex,
} from "./search/token-index.ts";

/** What is counted and returned: passages, or documents, each as its best passage (documents.ts). */
export type Granularity = "passage" | "document";

export interface RankOptions extends SearchOptions {
  /** Default `passage`. */
  readonly granularity?: Granularity | undefined;
  /** Ranks by BM25 and the model together. Default: by the model alone. */
  readonly hybrid?: HybridOptions | undefined;
}

/** For each question the best `topK` units, best first. */
export async function rank(
  index: TokenIndex,
  questions: readonly Question[],
  { topK, granularity = "passage", hybrid, ...search }: RankOptions,
): Promise<SearchHit[][]> {
  checkTopK(topK);
  const rankPassages: RankPassages<Question> = (asked, count) => {
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
