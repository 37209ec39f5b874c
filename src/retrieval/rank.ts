/** What an index has for questions: passages or documents, by the score of the model or with BM25. */

import { type RankPassages, rankDocuments } from "./documents.ts";
import { type Interpolation, type Question, searchBoth } from "./hybrid.ts";
import { checkTopK, type SearchHit, type SearchOptions, type TokenIndex } from "./search/token-index.ts";

/** What is counted and returned: passages, or documents, each as its best passage (documents.ts). */
export type Unit = "passage" | "document";

export interface RankOptions extends SearchOptions {
  /** Default `passage`. */
  readonly unit?: Unit | undefined;
  /** Ranks by BM25 and the model together. Default: by the model alone. */
  readonly interpolation?: Interpolation | undefined;
}

/** For each question the best `topK` units, best first. */
export async function rank(
  index: TokenIndex,
  questions: readonly Question[],
  { topK, unit = "passage", interpolation, ...search }: RankOptions,
): Promise<SearchHit[][]> {
  checkTopK(topK);
  const rankPassages: RankPassages<Question> = (asked, count) => {
    const options = { ...search, topK: count };
    if (interpolation) return searchBoth(index, interpolation, asked, options);
    return index.searchBatch(
      asked.map(({ vectors }) => vectors),
      options,
    );
  };
  return unit === "document"
    ? rankDocuments(index, rankPassages, questions, topK)
    : rankPassages(questions, topK);
}
