/** Finds passages for questions, ranks passages that a caller has, and explains a score. */

import type { TokenizedQuestion } from "../decoder/answers.ts";
import { type IndexedTokens, indexedTokens } from "../encoder/passage-keys.ts";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { scoreCalibrator } from "../model/score-calibration.ts";
import type { Resolved } from "../options/option.ts";
import { type Explanation, explanationOf } from "../retrieval/explain.ts";
import { type HybridOptions, wordsOf } from "../retrieval/hybrid.ts";
import type { IndexHeader } from "../retrieval/index/format/manifest.ts";
import { chooserOf } from "../retrieval/index/write/token-pruning.ts";
import { type ChosenPassages, choosePassages } from "../retrieval/query/choose-passages.ts";
import { type FoundPassage, type RankRequest, rank } from "../retrieval/rank.ts";
import type { IndexGeneration } from "../retrieval/search/generation.ts";
import type { TokenIndex } from "../retrieval/search/token-index.ts";
import type { LinkOf } from "../text/link.ts";
import type { Passage, PassageInput } from "../text/passage.ts";
import {
  encodeQuestions,
  type LoadedModel,
  passageKeyModel,
  scorePassages,
  tokenize,
  tokenizeOrError,
} from "./loaded-model.ts";
import type { RERANK } from "./options.ts";

/** A retrieved passage. With granularity `document` it is the best passage of the document. */
export interface Hit extends Passage {
  /**
   * The probability that the passage answers the question, whatever else is found, if the model
   * stores a calibration of scores. Otherwise the score that the search ranks by,
   * `scores.ranking`.
   */
  readonly score: number;
  /** The address of the document: of its field `url`, or made with `linkBase`. */
  readonly link?: string | undefined;
  /** Passages that nearly repeat this one, best first; with the option `distinct`, if any. */
  readonly duplicates?: readonly Duplicate[] | undefined;
  /** With the option `explain`. */
  readonly scores?: RawScores | undefined;
}

/** A passage that another one stands for. */
export interface Duplicate extends Pick<Passage, "id" | "title" | "document"> {
  /** The address of its document. */
  readonly link?: string | undefined;
}

/** The scores of a passage before calibration. */
export interface RawScores {
  /** What the search ranks by: `similarity`, or with `hybrid` `words + lambda * similarity`. */
  readonly ranking: number;
  /** The retrieval score r(q, d). */
  readonly similarity: number;
  /** The BM25 score divided by the number of terms of the question; with `hybrid` only. */
  readonly words?: number | undefined;
}

/** What is found for a question of many. */
export interface Retrieval {
  /** Best first. */
  readonly passages: readonly Hit[];
  /** Why nothing could be searched for, such as the length of the question; absent otherwise. */
  readonly error?: InputError | undefined;
}

/** What `rerank` adds to a passage. */
export interface Reranked {
  /**
   * The probability that the passage answers the question, if the model stores a calibration of
   * scores; otherwise the retrieval score. Of a long passage, that of its best window.
   */
  readonly score: number;
  /** With the option `explain`. */
  readonly scores?: RawScores | undefined;
}

/** Makes hits of passages that a search has found. */
export function hitsBy({
  explain,
  hybrid,
  linkOf,
}: {
  readonly explain: boolean;
  readonly hybrid?: HybridOptions | undefined;
  readonly linkOf: LinkOf;
}): (found: FoundPassage) => Hit {
  const linked = (passage: Passage) => {
    const link = linkOf(passage);
    return link !== undefined && { link };
  };
  const named = (passage: Passage): Duplicate => {
    const { id, title, document } = passage;
    return { id, title, ...(document !== undefined && { document }), ...linked(passage) };
  };
  return ({ passage, score, rankingScore: ranking, similarity, duplicates }) => {
    const others = duplicates.length > 0 && { duplicates: duplicates.map(named) };
    const hit = { ...passage, score, ...linked(passage), ...others };
    if (!explain || similarity === undefined) return hit;
    const words = hybrid && { words: ranking - hybrid.lambda * similarity };
    return { ...hit, scores: { ranking, similarity, ...words } };
  };
}

/** Questions of a batch share a pass over the index. Larger batches take too much memory. */
const QUESTIONS_PER_BATCH = 64;

/**
 * The passages of many questions, in their order.
 *
 * @throws the error of the first question that has one
 */
export async function hitLists(found: AsyncIterable<Retrieval>): Promise<Hit[][]> {
  const lists: Hit[][] = [];
  for await (const { passages, error } of found) {
    if (error) throw error;
    lists.push([...passages]);
  }
  return lists;
}

/** Retrieves for questions, batch by batch. */
export async function* retrievals(
  model: LoadedModel,
  texts: readonly string[],
  index: TokenIndex,
  request: Omit<RankRequest, "scoreOf"> & { readonly explain: boolean },
): AsyncGenerator<Retrieval, void> {
  const hitOf = hitsBy({ ...request, linkOf: (passage) => index.linkOf(passage) });
  let noticed: Promise<void> | undefined; // a batch that runs keeps the model open
  const search = { ...request, similarities: request.explain ? request.topK : 0 };
  for (let first = 0; first < texts.length; first += QUESTIONS_PER_BATCH) {
    const batch = texts.slice(first, first + QUESTIONS_PER_BATCH);
    const tokenized = batch.map((text) => tokenizeOrError(model, text));
    const questions = tokenized.flatMap(({ question }) => question ?? []);
    const found = await model.lifetime.use(async () => {
      noticed ??= noticeChanges(index, request);
      await noticed;
      return find(model, questions, index, search);
    });
    const next = found.values();
    for (const { error } of tokenized)
      yield error ? { passages: [], error } : { passages: next.next().value!.passages.map(hitOf) };
  }
}

/** What is found for a question. */
export interface FoundFor {
  /** The question without keywords that only choose passages. */
  readonly question: TokenizedQuestion;
  /** Best first. */
  readonly passages: readonly FoundPassage[];
}

type FindRequest = Omit<RankRequest, "scoreOf">;

/**
 * Moves an index to its newest generation before questions. What was made of ordinals, a `filter`
 * or a lexical index, belongs to the generation that is open.
 */
export async function noticeChanges(
  index: TokenIndex,
  { filter, hybrid }: Pick<RankRequest, "filter"> & { readonly hybrid?: unknown },
): Promise<void> {
  const isLexical = (hybrid as Partial<HybridOptions> | undefined)?.lexical !== undefined;
  if (typeof filter !== "function" && !isLexical) await index.catchUp();
}

/** The best passages of an index for each question. */
export function find(
  model: LoadedModel,
  questions: readonly TokenizedQuestion[],
  index: TokenIndex,
  request: FindRequest,
): Promise<FoundFor[]> {
  return index.snapshot(async (generation) => {
    const { statesFingerprint } = model.searching;
    const isOwn = generation.header.states?.fingerprint === statesFingerprint;
    const states = isOwn ? request.states : 0;
    const own = { ...request, states };
    const chosen = await Promise.all(questions.map(({ text }) => chosenFor(generation, text, own)));
    const plain = questions.filter((_, i) => !chosen[i]);
    const found = (await rankFor(model, generation, plain, own)).values();
    const all: FoundFor[] = [];
    for (const [i, question] of questions.entries()) {
      const choice = chosen[i];
      if (!choice) all.push({ question, passages: found.next().value! });
      else {
        const asked = tokenize(model, choice.text);
        const { accept: filter } = choice;
        const [passages] = await rankFor(model, generation, [asked], { ...own, filter });
        all.push({ question: asked, passages: passages! });
      }
    }
    return all;
  });
}

/** What the keywords of a question choose of the passages that a request leaves. */
async function chosenFor(
  generation: IndexGeneration,
  text: string,
  { filter, hybrid, signal }: FindRequest,
): Promise<ChosenPassages | undefined> {
  const chosen = await choosePassages(
    generation,
    () => wordsOf(generation, hybrid?.lexical, signal),
    text,
    signal,
  );
  const passes = chosen && filter && (await generation.accepting({ filter }));
  return passes
    ? { ...chosen, accept: (ordinal) => passes(ordinal) && chosen.accept(ordinal) }
    : chosen;
}

async function rankFor(
  model: LoadedModel,
  generation: IndexGeneration,
  questions: readonly TokenizedQuestion[],
  request: FindRequest,
): Promise<FoundPassage[][]> {
  const vectors = await encodeQuestions(model, questions, request.signal);
  const encoded = questions.map(({ text }, i) => ({ text, vectors: vectors[i]! }));
  const scoreOf = scoreCalibrator(model.config.scoreCalibration, request.hybrid?.lambda);
  return rank(generation, encoded, { ...request, scoreOf });
}

/** Passages by their scores for a question, best first. */
export async function rerank<P extends PassageInput>(
  model: LoadedModel,
  question: string,
  passages: readonly P[],
  { topK = passages.length, maxPassageTokens, explain, signal }: Resolved<typeof RERANK>,
): Promise<(P & Reranked)[]> {
  const options = { maxPassageTokens, signal };
  const scores = await scorePassages(model, tokenize(model, question), passages, options);
  const scoreOf = scoreCalibrator(model.config.scoreCalibration, undefined);
  // By the scores themselves: probabilities near 0 or 1 can be equal where scores are not.
  const order = [...scores.keys()].sort((a, b) => scores[b]! - scores[a]!);
  return order.slice(0, topK).map((i) => {
    const similarity = scores[i]!;
    const raw = explain && { scores: { ranking: similarity, similarity } };
    return { ...passages[i]!, score: scoreOf(similarity), ...raw };
  });
}

/** Why a passage of an index has its score for a question. */
export async function explain(
  model: LoadedModel,
  text: string,
  { id, collection }: { readonly id: string; readonly collection?: string | undefined },
  index: TokenIndex,
): Promise<Explanation> {
  const question = tokenize(model, text);
  const [vectors] = await encodeQuestions(model, [question]);
  await index.catchUp();
  return index.snapshot(async (generation) => {
    const ordinal = await generation.find(id, collection);
    if (ordinal === undefined) throw notInIndex(id, generation.directory);
    const { header } = generation.ownerOf(ordinal);
    const matches = await generation.matches(vectors!, ordinal);
    if (header.pooling !== undefined) return { score: matches[0]!.score, tokens: [] };
    const passage = (await generation.passages([ordinal]))[0]!;
    const count = (await generation.keys(ordinal)).length / header.dimension;
    const indexed = await tokensInIndex(model, passage, header, count);
    const parts = { question, indexed, matches };
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
