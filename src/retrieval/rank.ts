/** Ranks passages or documents for questions, by the retrieval score or by hybrid search. */

import { z } from "zod";
import { filterOption } from "../options/arguments.ts";
import { HYBRID_OPTIONS, RANK_OPTIONS } from "../options/library-options.ts";
import { type Given, type Resolved, SIGNAL } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import type { LexicalIndex } from "./bm25/lexical-index.ts";
import { type RankPassages, rankDocuments } from "./documents.ts";
import { type EncodedQuestion, hybridSearch } from "./hybrid.ts";
import type { SearchHit, TokenIndex } from "./search/token-index.ts";

/**
 * What a search counts and returns: passages, or documents, each with its best passage
 * (documents.ts).
 */
export type Granularity = "passage" | "document";

const lexicalIndex = z.custom<LexicalIndex>((given) => {
  const index = given as Partial<LexicalIndex> | null;
  return typeof index?.search === "function" && typeof index.score === "function";
}, "an index from openLexicalIndex");

/** Options of `ReAtt.retrieve`. */
export const RETRIEVE_OPTIONS = {
  ...RANK_OPTIONS,
  /** The ids, or the ordinals, that the search may return. */
  filter: filterOption,
  /** Ranks by BM25 and the model together. Default: by the model alone. */
  hybrid: z
    .strictObject({ ...HYBRID_OPTIONS, lexical: lexicalIndex.optional() }, "an object with lambda")
    .refine(({ lexical, k1, b }) => !lexical || (k1 === undefined && b === undefined), {
      error: "k1 and b without lexical: openLexicalIndex has them",
    })
    .optional(),
  ...SIGNAL,
};

export type RankOptions = Given<typeof RETRIEVE_OPTIONS>;

/** Resolved options, with those of `answer` that are not about retrieval left out. */
export const rankOptionsOf = ({
  topK,
  granularity,
  filter,
  hybrid,
  signal,
}: Resolved<typeof RETRIEVE_OPTIONS>): Resolved<typeof RETRIEVE_OPTIONS> => ({
  ...{ topK, granularity, filter, hybrid, signal },
});

/**
 * Returns for each question the `topK` best passages or documents, best first.
 *
 * @throws {InputError} if an option cannot be used
 */
export async function rank(
  index: TokenIndex,
  questions: readonly EncodedQuestion[],
  given: RankOptions,
): Promise<SearchHit[][]> {
  const { topK, granularity, hybrid, ...search } = resolveOptions(RETRIEVE_OPTIONS, given);
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
