/** Finds passages for questions, ranks passages that a caller has, and explains a score. */

import type { TokenizedQuestion } from "../decoder/answers.ts";
import { type IndexedTokens, indexedTokens } from "../encoder/passage-keys.ts";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import type { Resolved } from "../options/option.ts";
import { type Explanation, explanationOf } from "../retrieval/explain.ts";
import type { IndexHeader } from "../retrieval/index/format/manifest.ts";
import { chooserOf } from "../retrieval/index/write/token-pruning.ts";
import { type FoundPassage, type RankRequest, rank } from "../retrieval/rank.ts";
import type { TokenIndex } from "../retrieval/search/token-index.ts";
import type { Passage, PassageInput } from "../text/passage.ts";
import { tokensOver } from "../text/prompts.ts";
import {
  encodeQuestions,
  type LoadedModel,
  passageKeyModel,
  scorePassages,
  tokenize,
} from "./loaded-model.ts";
import type { RERANK } from "./options.ts";

/**
 * A retrieved passage. With granularity `document` it is the best passage of the document. `score`
 * is the retrieval score. With `hybrid` it is the BM25 score divided by the number of terms of the
 * question, plus lambda times the retrieval score.
 */
export interface Hit extends Passage {
  /** Higher is better. */
  readonly score: number;
}

/** What `rerank` adds to a passage. */
export interface Reranked {
  /** The retrieval score. */
  readonly score: number;
  /** The number of its last tokens that were not compared; absent if none. */
  readonly cutTokens?: number | undefined;
}

export const hitOf = ({ passage, score }: FoundPassage): Hit => ({ ...passage, score });

/** The best passages of an index for each question. */
export async function find(
  model: LoadedModel,
  questions: readonly TokenizedQuestion[],
  index: TokenIndex,
  request: RankRequest,
): Promise<FoundPassage[][]> {
  const vectors = await encodeQuestions(model, questions, request.signal);
  const encoded = questions.map(({ text }, i) => ({ text, vectors: vectors[i]! }));
  return index.snapshot((generation) => {
    const { statesFingerprint } = model.searching;
    const isOwn = generation.header.states?.fingerprint === statesFingerprint;
    const withStates = isOwn && request.withStates;
    return rank(generation, encoded, { ...request, withStates });
  });
}

/** Passages by their scores for a question, best first. */
export async function rerank<P extends PassageInput>(
  model: LoadedModel,
  question: string,
  passages: readonly P[],
  { topK = passages.length, maxPassageTokens, signal }: Resolved<typeof RERANK>,
): Promise<(P & Reranked)[]> {
  const options = { maxPassageTokens, signal };
  const scores = await scorePassages(model, tokenize(model, question), passages, options);
  const scored = passages.map((passage, i) => {
    const cutTokens = tokensOver(model.tokenizer, passage, maxPassageTokens);
    return { ...passage, score: scores[i]!, ...(cutTokens > 0 && { cutTokens }) };
  });
  return scored.sort((a, b) => b.score - a.score).slice(0, topK);
}

/** Why the passage `id` of an index has its score for a question. */
export async function explain(
  model: LoadedModel,
  text: string,
  id: string,
  index: TokenIndex,
): Promise<Explanation> {
  const question = tokenize(model, text);
  const [vectors] = await encodeQuestions(model, [question]);
  return index.snapshot(async (generation) => {
    const ordinal = await generation.find(id);
    if (ordinal === undefined) throw notInIndex(id, generation.directory);
    const { header } = generation;
    const matches = await generation.matches(vectors!, ordinal);
    if (header.pooling !== undefined) return { score: matches[0]!.score, tokens: [] };
    const passage = (await generation.passages([ordinal]))[0]!;
    const count = (await generation.keys(ordinal)).length / header.dimension;
    const { ids, kept } = await tokensInIndex(model, passage, header, count);
    const parts = { question, passage, passageIds: ids, kept, matches };
    return explanationOf(model.tokenizer, parts);
  });
}

/** The tokens of a passage that has `count` keys in an index. */
export const tokensInIndex = (
  model: LoadedModel,
  passage: Passage,
  header: IndexHeader,
  count: number,
): Promise<IndexedTokens> =>
  indexedTokens(passageKeyModel(model), passage, header.maxPassageTokens, chooserOf(header, count));

const notInIndex = (id: string, directory: string): InputError =>
  new InputError({
    where: "hit",
    expected: `a passage of ${directory}`,
    got: `the id ${excerpt(id)}`,
    remedy: "give a hit of a search in this index",
  });
