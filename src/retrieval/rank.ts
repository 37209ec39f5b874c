/** Ranks passages or documents for questions, by the retrieval score or by hybrid search. */

import { z } from "zod";
import type { StoredStates } from "../encoder/state-cache.ts";
import type { ScoreCalibrator } from "../model/score-calibration.ts";
import { filterOption } from "../options/arguments.ts";
import { type Given, option, type Resolved, SIGNAL } from "../options/option.ts";
import { HYBRID, HYBRID_OPTIONS, RANK_OPTIONS } from "../options/search-request.ts";
import type { Passage } from "../text/passage.ts";
import { documentKey, type RankPassages, rankGroups } from "./documents.ts";
import { type EncodedQuestion, type HybridOptions, hybridSearch } from "./hybrid.ts";
import type { LexicalIndex } from "./lexical-index.ts";
import { NearDuplicates } from "./near-duplicates.ts";
import type { Ranking } from "./scoring/top-k.ts";
import type { IndexGeneration } from "./search/generation.ts";
import { givenWhere, parseWhere } from "./where/parse-where.ts";

/**
 * What a search counts and returns: passages, or documents, each with its best passage
 * (documents.ts).
 */
export type Granularity = "passage" | "document";

const lexicalIndex = z.custom<LexicalIndex>((value) => {
  const index = value as Partial<LexicalIndex> | null;
  return typeof index?.bm25?.rank === "function";
}, "an index from openLexicalIndex");

const hybridWeights = z.strictObject({ ...HYBRID_OPTIONS, lexical: lexicalIndex.optional() });

/** The option `where`: `retrieve` and `answer` have it in the library and as a flag. */
export const WHERE_OPTION = {
  /**
   * A condition on the metadata of the passages that the search may return, as an object or as
   * text: `year >= 2020`. Default: none.
   */
  where: option(givenWhere.optional(), {
    help: "search only passages with such metadata: 'year >= 2020 and lang = \"en\"'",
    placeholder: "CONDITION",
    parse: parseWhere,
  }),
};

/** Options of `ReAtt.retrieve`. */
export const RETRIEVE_OPTIONS = {
  ...RANK_OPTIONS,
  ...WHERE_OPTION,
  /** The ids, or the ordinals, that the search may return. Default: every passage. */
  filter: filterOption,
  /**
   * Ranks by BM25 and the model together. `true` uses the weights that the model stores
   * (`config.hybrid`), an object gives others, `false` ranks by the model alone. Default: true if
   * the model stores weights. BM25 reads the words that the index holds; without them, it is
   * built in memory on first use, and kept as long as the open index.
   */
  hybrid: option(
    z.union([z.boolean(), hybridWeights], "true, false or an object with lambda").optional(),
    {
      help: "rank by BM25 and the model, with the weights that the model stores",
      defaultText: "true if the model stores weights",
      group: HYBRID,
    },
  ),
  ...SIGNAL,
};

export interface RankOptions
  extends Given<typeof RANK_OPTIONS>,
    Given<typeof WHERE_OPTION>,
    Given<typeof SIGNAL>,
    Given<typeof RETRIEVE_OPTIONS> {}

/** Options of `rank`: those of `retrieve` after their check. */
export interface RankRequest
  extends Omit<Resolved<typeof RETRIEVE_OPTIONS>, "hybrid" | "explain" | "distinct"> {
  /** Whether near-duplicates of a better passage share its place. Default false. */
  readonly distinct?: boolean | undefined;
  /** The weights of hybrid search. Default: the model ranks alone. */
  readonly hybrid?: HybridOptions | undefined;
  /** Makes the scores that are returned of those that rank. Default: they are the same. */
  readonly scoreOf?: ScoreCalibrator | undefined;
  /** Of how many of the best passages to read the states that the index holds. Default 0. */
  readonly states?: number | undefined;
  /** How many of the best passages get a retrieval score beside that of the search. Default 0. */
  readonly similarities?: number | undefined;
}

/** A passage that a search found. */
export interface FoundPassage {
  readonly passage: Passage;
  /** The position of the passage in the index. */
  readonly ordinal: number;
  readonly score: number;
  /** What it is ranked by. */
  readonly rankingScore: number;
  /** The retrieval score, without BM25. */
  readonly similarity?: number | undefined;
  readonly states?: StoredStates | undefined;
  /** The passages that nearly repeat it, best first; with `distinct` only. */
  readonly duplicates: readonly Passage[];
}

/**
 * Returns for each question the `topK` best passages or documents, best first. It reads the
 * passages that it returns, once each, and of the others only what decides about documents.
 */
export async function rank(
  index: IndexGeneration,
  questions: readonly EncodedQuestion[],
  request: RankRequest,
): Promise<FoundPassage[][]> {
  const { hybrid, filter, where, minScore, signal } = request;
  const {
    scoreOf = (score) => score,
    states: withStates = 0,
    similarities: compared = 0,
  } = request;
  const accept = await index.accepting({ filter, where });
  const rankPassages: RankPassages<EncodedQuestion> = (some, count) => {
    const search = { topK: count, accept, signal };
    if (hybrid) return hybridSearch(index, hybrid, some, search);
    return index.rankings(
      some.map(({ vectors }) => vectors),
      search,
    );
  };
  const passageAt = passageReader(index);
  const copies = request.distinct ? questions.map(({ text }) => new NearDuplicates(text)) : [];
  const groupOf = groupsOf(request, passageAt, copies);
  const { topK } = request;
  const rankings = groupOf
    ? await rankGroups(index.passageCount, groupOf.key, rankPassages, questions, {
        ...{ topK, first: groupOf.first },
      })
    : await rankPassages(questions, topK);
  const read = async (ranking: Ranking, question: number): Promise<FoundPassage[]> => {
    const { ordinals, scores, raw } = atLeast(ranking, scoreOf, minScore);
    const { vectors } = questions[question]!;
    const passages = await Promise.all(Array.from(ordinals, passageAt));
    const states = withStates > 0 ? await index.states([...ordinals.subarray(0, withStates)]) : [];
    const similarities =
      compared > 0 ? await index.scores(vectors, ordinals.subarray(0, compared)) : [];
    return passages.map((passage, i) => ({
      passage,
      ordinal: ordinals[i]!,
      score: scores[i]!,
      rankingScore: raw[i]!,
      similarity: similarities[i],
      states: states?.[i],
      duplicates: copies[question]?.othersOf(passage) ?? [],
    }));
  };
  return Promise.all(rankings.map(read));
}

/** What passages of a ranking count once; undefined if each counts for itself. */
function groupsOf(
  { granularity, distinct, topK }: RankRequest,
  passageAt: (ordinal: number) => Promise<Passage>,
  copies: readonly NearDuplicates[],
) {
  const isDocuments = granularity === "document";
  if (!isDocuments && !distinct) return undefined;
  const key = async (ordinal: number, question: number): Promise<string> => {
    const passage = await passageAt(ordinal);
    const own = isDocuments ? documentKey(passage) : `${ordinal}`;
    return distinct ? copies[question]!.groupOf(own, passage) : own;
  };
  return { key, first: isDocuments ? 2 * topK : topK };
}

/** The beginning of a ranking with no lower score. */
function atLeast(
  { ordinals, scores: raw }: Ranking,
  scoreOf: ScoreCalibrator,
  minScore = -Infinity,
): Ranking & { readonly raw: Float64Array } {
  const scores = raw.map(scoreOf);
  const below = scores.findIndex((score) => score < minScore);
  const count = below === -1 ? scores.length : below;
  return {
    ordinals: ordinals.subarray(0, count),
    scores: scores.subarray(0, count),
    raw: raw.subarray(0, count),
  };
}

/** Reads each passage once, though several questions find it. */
function passageReader(index: IndexGeneration): (ordinal: number) => Promise<Passage> {
  const passages = new Map<number, Promise<Passage>>();
  const read = async (ordinal: number) => (await index.passages([ordinal]))[0]!;
  return (ordinal) => {
    const passage = passages.get(ordinal) ?? read(ordinal);
    passages.set(ordinal, passage);
    return passage;
  };
}
