/**
 * The candidates of a training question: the passages that it is read with. They are also its hard
 * negatives in the retrieval distribution.
 *
 * Source: ReAtt (Jiang et al. 2022), section 3.1, "close documents": BM25's at first, those of the
 * current model in later iterations.
 */

import { setImmediate } from "node:timers/promises";
import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import { createRandom, type Random } from "../../math/random.ts";
import type { Bm25 } from "../../retrieval/bm25/bm25.ts";
import type { TrainingQuestion } from "./training-questions.ts";

/** Retrieves the ids of at most `topK` passages for each question, best first. */
export type CandidateRetriever = (
  questions: readonly TrainingQuestion[],
  topK: number,
) => Promise<readonly (readonly string[])[]>;

export interface CandidateOptions {
  readonly retriever: CandidateRetriever;
  /** Candidates of each question: the paper's K. */
  readonly count: number;
  /** The ids of all passages. */
  readonly corpusIds: readonly string[];
  readonly seed: number | string;
  /** Called with the number of questions that are done. */
  readonly onProgress?: ((questions: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Questions of one search: a token index reads its keys once for all of them. */
const SEARCH_BATCH = 64;

/**
 * The ids of the candidates of each question [questions][count], as retrieved, best first. The
 * passage that a question was asked about is always a candidate: it takes the last place if the
 * retriever did not find it. If the retriever finds too few passages (BM25 finds only those that
 * share a term with the question), random ones are added.
 *
 * @throws {InputError} if the corpus has fewer passages than `count`.
 */
export async function findCandidates(
  questions: readonly TrainingQuestion[],
  { retriever, count, corpusIds, seed, onProgress, signal }: CandidateOptions,
): Promise<string[][]> {
  checkCandidateCount(count, corpusIds.length);
  const candidates: string[][] = [];
  for (let first = 0; first < questions.length; first += SEARCH_BATCH) {
    signal?.throwIfAborted();
    const batch = questions.slice(first, first + SEARCH_BATCH);
    const retrieved = await retriever(batch, count);
    batch.forEach((question, i) => {
      // The old name of candidates is part of the draw's name: it must not change.
      const random = createRandom(seed, "close passages", question.id);
      const best = withSource(retrieved[i]!, question.passageId, count);
      candidates.push(padWithRandom(best, count, corpusIds, random));
    });
    onProgress?.(candidates.length);
    await setImmediate(); // BM25 never yields to the event loop: without this, no signal arrives
  }
  return candidates;
}

/** Retrieves candidates with BM25. */
export const bm25Candidates =
  (bm25: Bm25): CandidateRetriever =>
  async (questions, topK) =>
    questions.map(({ question }) => bm25.search(question, topK).map(({ id }) => id));

/** Takes the candidates that the training file gives. */
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

function withSource(
  retrieved: readonly string[],
  source: string | undefined,
  count: number,
): readonly string[] {
  const best = retrieved.slice(0, count);
  if (source === undefined || best.includes(source)) return best;
  return [...best.slice(0, count - 1), source];
}

function padWithRandom(
  retrieved: readonly string[],
  count: number,
  ids: readonly string[],
  random: Random,
): string[] {
  const distinct = new Set(retrieved);
  while (distinct.size < count) distinct.add(ids[random.integer(ids.length)]!);
  return [...distinct];
}

/** @throws {InputError} if there are fewer passages than `count`. */
export function checkCandidateCount(count: number, passages: number): void {
  if (passages >= count) return;
  throw new InputError({
    where: "candidates",
    expected: `a corpus of at least ${count} passages`,
    got: `${passages}`,
    remedy: "ask for fewer candidates, or name a larger corpus",
  });
}
