/**
 * The close passages of a training question: those that it is read with, and that its passages compete with in the retrieval
 * distribution. Source: ReAtt (Jiang et al. 2022), section 3.3: BM25's at first, the model's own in later iterations.
 */

import { setImmediate } from "node:timers/promises";
import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import { createRandom, type Random } from "../../math/random.ts";
import type { Bm25 } from "../../retrieval/bm25/bm25.ts";
import type { TrainingQuestion } from "./training-questions.ts";

/** Finds the ids of at most `topK` passages for each question, best first. */
export type CandidateRetriever = (
  questions: readonly TrainingQuestion[],
  topK: number,
) => Promise<readonly (readonly string[])[]>;

export interface CandidateOptions {
  readonly search: CandidateRetriever;
  /** How many passages each question gets: K. */
  readonly count: number;
  /** The ids of all passages. */
  readonly corpusIds: readonly string[];
  readonly seed: number | string;
  /** Told how many questions are done. */
  readonly onProgress?: ((questions: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Questions that are searched for together: a search of the token index shares its pass over the keys among them. */
const QUESTIONS_PER_SEARCH = 64;

/**
 * The ids of the close passages of each question, [questions][count]: what the search finds, best first. The passage that a
 * question was asked about is always among them, in the last place if the search did not find it. Where a search finds too
 * few (BM25: those without a term of the question), the rest are drawn at random.
 *
 * @throws {InputError} where the corpus has fewer passages than `count`.
 */
export async function findCandidates(
  questions: readonly TrainingQuestion[],
  { search, count, corpusIds, seed, onProgress, signal }: CandidateOptions,
): Promise<string[][]> {
  checkCandidateCount(count, corpusIds.length);
  const close: string[][] = [];
  for (let first = 0; first < questions.length; first += QUESTIONS_PER_SEARCH) {
    signal?.throwIfAborted();
    const together = questions.slice(first, first + QUESTIONS_PER_SEARCH);
    const found = await search(together, count);
    together.forEach((question, i) => {
      const random = createRandom(seed, "close passages", question.id);
      close.push(complete(withOwn(found[i]!, question.passageId, count), count, corpusIds, random));
    });
    onProgress?.(close.length);
    await setImmediate(); // BM25 never waits: without this, nobody could stop it
  }
  return close;
}

/** Close passages as BM25 finds them. */
export const bm25Candidates =
  (bm25: Bm25): CandidateRetriever =>
  async (questions, topK) =>
    questions.map(({ question }) => bm25.search(question, topK).map(({ id }) => id));

/** Close passages as the training file gives them. */
export const givenCandidates: CandidateRetriever = async (questions, topK) =>
  questions.map(({ id, contexts }) => {
    if (contexts) return contexts.slice(0, topK);
    const where = `question ${excerpt(id)}`;
    throw new InputError({
      where,
      expected: "contexts",
      got: "none",
      remedy: "take them from BM25",
    });
  });

function withOwn(
  found: readonly string[],
  own: string | undefined,
  count: number,
): readonly string[] {
  const best = found.slice(0, count);
  return own === undefined || best.includes(own) ? best : [...best.slice(0, count - 1), own];
}

function complete(
  found: readonly string[],
  count: number,
  ids: readonly string[],
  random: Random,
): string[] {
  const distinct = new Set(found);
  while (distinct.size < count) distinct.add(ids[random.integer(ids.length)]!);
  return [...distinct];
}

/** @throws {InputError} where there are fewer passages than `count`. */
export function checkCandidateCount(count: number, passages: number): void {
  if (passages >= count) return;
  throw new InputError({
    where: "close passages",
    expected: `a corpus of at least ${count} passages`,
    got: `${passages}`,
    remedy: "ask for fewer close passages, or name a larger corpus",
  });
}
