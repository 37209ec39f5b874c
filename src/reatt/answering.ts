/** Answers questions: finds passages in an index, or takes those of the caller, and reads them. */

import {
  type AnsweringModel,
  type AnsweringOptions,
  abstention,
  answerFromPassages,
  type ReadPassage,
  type Reply,
  type ResolvedReadOptions,
  type TokenizedQuestion,
  type ToRead,
  type UntimedReply,
} from "../decoder/answers.ts";
import { retrievalUtilities, type UTILITY_OPTIONS } from "../decoder/retrieval-utility.ts";
import { specificsOf } from "../decoder/support.ts";
import type { PassageToRead } from "../decoder/windows.ts";
import type { Resolved } from "../options/option.ts";
import { PASSAGES_READ, PASSAGES_RETURNED } from "../options/search-request.ts";
import { chooseHybrid, type HybridOptions } from "../retrieval/hybrid.ts";
import { knownWords } from "../retrieval/query/known-words.ts";
import type { FoundPassage, RankRequest } from "../retrieval/rank.ts";
import type { IndexGeneration } from "../retrieval/search/generation.ts";
import type { TokenIndex } from "../retrieval/search/token-index.ts";
import type { PassageInput } from "../text/passage.ts";
import { type LoadedModel, scorePassages, tokenize, tokenizeOrError } from "./loaded-model.ts";
import type { ANSWER } from "./options.ts";
import { type FoundFor, find, type Hit, hitsBy, noticeChanges } from "./retrieving.ts";
import { recordUnanswered } from "./unanswered.ts";

/** Questions of a batch share a pass over the index and each step of the decoder. */
const QUESTIONS_PER_BATCH = 16;

/** Finds the passages of questions in an index, and reads the best of them. */
export async function* answers(
  model: LoadedModel,
  questions: readonly string[],
  index: TokenIndex,
  options: Resolved<typeof ANSWER>,
): AsyncGenerator<Reply<Hit>, void> {
  const linkOf: TokenIndex["linkOf"] = (passage) => index.linkOf(passage);
  const { maxPassageTokens } = index.header;
  const { readTopK = model.config.readTopK ?? PASSAGES_READ } = options;
  const { topK = Math.max(PASSAGES_RETURNED, readTopK) } = options;
  const hybrid = chooseHybrid(options.hybrid, model.config.hybrid, model.folder);
  const compared = readTopK + 1; // a calibration compares the best passage with the next
  const most = Math.max(topK, compared);
  const similarities = options.explain ? most : compared;
  const request = { ...options, topK: most, hybrid, states: readTopK, similarities };
  const retrievalScore = retrievalScoreOf(hybrid);
  const hitOf = hitsBy({ ...request, linkOf });
  const readable = (own: FoundPassage): PassageToRead<Hit> => ({
    passage: hitOf(own),
    score: retrievalScore(own.rankingScore),
    states: own.states,
  });
  let noticed: Promise<void> | undefined; // a batch that runs keeps the model open
  const passagesOf = async (batch: readonly TokenizedQuestion[]) => {
    noticed ??= noticeChanges(index, options);
    await noticed;
    const all = await find(model, batch, index, request);
    const known = await index.snapshot((generation) => knownOf(all, generation, request));
    return all.map(({ question, passages: found }, i): Found<Hit> => {
      const toRead = found.slice(0, readTopK);
      const next = found[readTopK];
      return {
        question,
        passages: toRead.map(readable),
        returned: found.slice(0, topK).map(hitOf),
        match: {
          similarities: toRead.map(({ similarity }) => similarity!),
          next: next && { text: next.passage.text, similarity: next.similarity! },
          known: known[i],
        },
      };
    });
  };
  const reading = { ...options, maxPassageTokens, linkOf, abstains: true };
  let position = 0;
  for await (const reply of replies(model, questions, passagesOf, reading)) {
    const question = questions[position++]!;
    if (options.unansweredFile !== undefined)
      await recordUnanswered(options.unansweredFile, question, reply);
    yield reply;
  }
}

/**
 * The names and numbers of each question that some passage has which the search may return;
 * undefined for an index without words, and for a store.
 */
async function knownOf(
  found: readonly FoundFor[],
  generation: IndexGeneration,
  { filter, where, hybrid }: Pick<RankRequest, "filter" | "where" | "hybrid">,
): Promise<(ReadonlySet<string> | undefined)[]> {
  const asked = found.map(({ question: { text } }) => specificsOf(text).map(({ word }) => word));
  if (asked.every((words) => words.length === 0)) return asked.map(() => new Set());
  const search = generation.isRemote
    ? undefined
    : (hybrid?.lexical?.bm25 ?? (await generation.words()));
  if (!search) return asked.map(() => undefined);
  const accept = filter || where ? await generation.accepting({ filter, where }) : undefined;
  return Promise.all(asked.map((words) => knownWords(words, search, accept)));
}

/**
 * The retrieval score from that of a search. That of hybrid search is in another unit: divided by
 * lambda, the unit is that of the retrieval score. Undefined for a search by BM25 alone.
 */
function retrievalScoreOf(
  hybrid: HybridOptions | undefined,
): (score: number) => number | undefined {
  if (!hybrid) return (score) => score;
  const { lambda } = hybrid;
  return (score) => (lambda > 0 ? score / lambda : undefined);
}

/** Reads the answers to questions from a list of passages for each. */
export function readings<P extends PassageInput>(
  model: LoadedModel,
  questions: readonly string[],
  lists: readonly (readonly P[])[],
  options: ResolvedReadOptions,
): AsyncGenerator<Reply<P>, void> {
  const toRead = (question: TokenizedQuestion, position: number): Found<P> => ({
    question,
    passages: lists[position]!.map((passage) => ({ passage })),
    returned: lists[position]!,
  });
  const passagesOf: PassagesOf<P> = async (batch, positions) =>
    positions.map((position, i) => toRead(batch[i]!, position));
  return replies(model, questions, passagesOf, { ...options, abstains: false });
}

/** @throws the error of the question, if it has one */
export async function onlyReply<P extends PassageInput>(
  all: AsyncGenerator<Reply<P>, void>,
): Promise<Reply<P>> {
  const { value } = await all.next();
  if (value!.error) throw value!.error;
  return value!;
}

/** How much more probable each passage makes one of some answers than no passage. */
export async function utilities(
  model: LoadedModel,
  question: string,
  accepted: readonly string[],
  passages: readonly PassageInput[],
  options: Resolved<typeof UTILITY_OPTIONS>,
): Promise<number[]> {
  const reading = await answeringModel(model);
  return retrievalUtilities(reading, tokenize(model, question), accepted, passages, options);
}

/** What is read for a question, and what is returned. */
interface Found<P extends PassageInput> extends ToRead<P> {
  /** The question that is read. */
  readonly question: TokenizedQuestion;
  /** Those that are read come first. */
  readonly returned: readonly P[];
}

/** What is found for each question of a batch; `positions` are those among all questions. */
type PassagesOf<P extends PassageInput> = (
  batch: readonly TokenizedQuestion[],
  positions: readonly number[],
) => Promise<readonly Found<P>[]>;

interface ReplyOptions extends AnsweringOptions {
  /** Whether a question without a passage is abstained from; otherwise that is an error. */
  readonly abstains: boolean;
}

/** Answers questions batch by batch. */
async function* replies<P extends PassageInput>(
  model: LoadedModel,
  questions: readonly string[],
  passagesOf: PassagesOf<P>,
  options: ReplyOptions,
): AsyncGenerator<Reply<P>, void> {
  for (let first = 0; first < questions.length; first += QUESTIONS_PER_BATCH) {
    const batch = questions.slice(first, first + QUESTIONS_PER_BATCH);
    yield* await model.lifetime.use(() => repliesOfBatch(model, batch, first, passagesOf, options));
  }
}

/**
 * Tokenizes the questions of a batch, finds their passages and reads them. Retrieval and reading
 * share the tokens but not the states: retrieval encodes the question with `</s>`, reading without.
 *
 * @param first the position of the first question among all
 */
async function repliesOfBatch<P extends PassageInput>(
  model: LoadedModel,
  batch: readonly string[],
  first: number,
  passagesOf: PassagesOf<P>,
  { abstains, onText, ...options }: ReplyOptions,
): Promise<Reply<P>[]> {
  const start = performance.now();
  const results = batch.map((): UntimedReply<P> => abstention());
  const questions = batch.flatMap((text, position) => {
    const { question, error } = tokenizeOrError(model, text);
    if (error) results[position] = { ...abstention<P>(), error };
    return question ? [{ position, question }] : [];
  });
  const found = await passagesOf(
    questions.map(({ question }) => question),
    questions.map(({ position }) => first + position),
  );
  const middle = performance.now();
  const rows = questions
    .map((one, i) => ({ ...one, found: found[i]! }))
    .filter(({ found }) => !(abstains && found.passages.length === 0));
  const texts =
    onText && ((text: string, row: number) => onText(text, first + rows[row]!.position));
  // Without a question, the reader is not opened.
  const read =
    rows.length === 0
      ? []
      : await answerFromPassages(
          await answeringModel(model),
          rows.map(({ found }) => found.question),
          rows.map(({ found }) => found),
          { ...options, onText: texts },
        );
  for (const [row, reply] of read.entries()) {
    const { position, found } = rows[row]!;
    results[position] = { ...reply, passages: evidenceOf(found.returned, reply.passages) };
  }
  const times = {
    retrieve: (middle - start) / batch.length,
    read: (performance.now() - middle) / batch.length,
  };
  return results.map((reply) => ({ ...reply, times }));
}

/** @param read those of `passages` that were read: the first, and perhaps more */
const evidenceOf = <P extends PassageInput>(
  passages: readonly P[],
  read: readonly ReadPassage<P>[],
): ReadPassage<P>[] => passages.map((passage, i) => read[i] ?? { ...passage, attention: 0 });

async function answeringModel(model: LoadedModel): Promise<AnsweringModel> {
  const { config, tokenizer, states, places } = model;
  return {
    config,
    tokenizer,
    encoder: model.retriever.encoder,
    reader: await model.reader(),
    states,
    places,
    scorePassages: (question, passages, options) =>
      scorePassages(model, question, passages, options),
  };
}
