/** Ranks passages or documents for questions, by the retrieval score or by hybrid search. */

import { z } from "zod";
import { filterOption } from "../options/arguments.ts";
import { HYBRID_OPTIONS, RANK_OPTIONS } from "../options/library-options.ts";
import { type Given, option, type Resolved, SIGNAL } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import type { LexicalIndex } from "./bm25/lexical-index.ts";
import { type RankPassages, rankDocuments } from "./documents.ts";
import { type EncodedQuestion, hybridSearch } from "./hybrid.ts";
import type { IndexGeneration, SearchHit, SearchOptions } from "./search/token-index.ts";
import { parseWhere } from "./where/parse-where.ts";
import { type Where, whereSchema } from "./where/where.ts";

/**
 * What a search counts and returns: passages, or documents, each with its best passage
 * (documents.ts).
 */
export type Granularity = "passage" | "document";

const lexicalIndex = z.custom<LexicalIndex>((given) => {
  const index = given as Partial<LexicalIndex & IndexGeneration> | null;
  const searches = typeof index?.search === "function" && typeof index.score === "function";
  return searches && index.searchBatch === undefined; // a token index has it
}, "an index from openLexicalIndex");

const hybridWeights = z.strictObject({ ...HYBRID_OPTIONS, lexical: lexicalIndex.optional() });

/** The option `where`: `retrieve` and `answer` have it in the library and as a flag. */
export const WHERE_OPTION = {
  /** A condition on the metadata of the passages that the search may return. */
  where: option(whereSchema.optional(), {
    help: "search only passages with such metadata: 'year >= 2020 and lang = \"en\"'",
    placeholder: "CONDITION",
    parse: parseWhere,
  }),
};

/** Options of `ReAtt.retrieve`. */
export const RETRIEVE_OPTIONS = {
  ...RANK_OPTIONS,
  ...WHERE_OPTION,
  /** The ids, or the ordinals, that the search may return. */
  filter: filterOption,
  /**
   * Ranks by BM25 and the model together. `true` uses the weights that the model stores
   * (`config.hybrid`), an object gives others, `false` ranks by the model alone. Default for
   * `retrieve`: false. Default for `answer`: true if the model stores weights. The BM25 index of
   * the passages is built in memory on first use, and kept as long as the open index.
   */
  hybrid: z.union([z.boolean(), hybridWeights], "true, false or an object with lambda").optional(),
  ...SIGNAL,
};

export type RankOptions = Given<typeof RETRIEVE_OPTIONS>;

/** Resolved options, with those of `answer` that are not about retrieval left out. */
export const rankOptionsOf = ({
  topK,
  granularity,
  filter,
  where,
  hybrid,
  signal,
}: Resolved<typeof RETRIEVE_OPTIONS>): Resolved<typeof RETRIEVE_OPTIONS> => ({
  ...{ topK, granularity, filter, where, hybrid, signal },
});

/**
 * Returns for each question the `topK` best passages or documents, best first. Hybrid search needs
 * its weights as an object: `ReAtt` looks up those that the model stores.
 *
 * @throws {InputError} if an option cannot be used
 */
export async function rank(
  index: IndexGeneration,
  questions: readonly EncodedQuestion[],
  given: RankOptions,
): Promise<SearchHit[][]> {
  const { topK, granularity, hybrid, where, ...others } = resolveOptions(RETRIEVE_OPTIONS, given);
  const filter = where ? await narrowed(index, others.filter, where) : others.filter;
  const search = { ...others, filter };
  const rankPassages: RankPassages<EncodedQuestion> = (asked, count) => {
    const options = { ...search, topK: count };
    if (typeof hybrid === "object") return hybridSearch(index, hybrid, asked, options);
    return index.searchBatch(
      asked.map(({ vectors }) => vectors),
      options,
    );
  };
  return granularity === "document"
    ? rankDocuments(index, rankPassages, questions, topK)
    : rankPassages(questions, topK);
}

/** The passages of `filter` that pass `where`. */
export async function narrowed(
  index: Pick<IndexGeneration, "matching" | "find">,
  filter: SearchOptions["filter"],
  where: Where,
): Promise<(ordinal: number) => boolean> {
  const matches = await index.matching(where);
  if (!filter) return matches;
  if (typeof filter === "function") return (ordinal) => matches(ordinal) && filter(ordinal);
  const ordinals = new Set(await Promise.all(Array.from(filter, index.find)));
  return (ordinal) => ordinals.has(ordinal) && matches(ordinal);
}
