/**
 * The candidates of an example: the passages that it is read with. They are also its hard negatives
 * in the retrieval distribution.
 *
 * Source: ReAtt (Jiang et al. 2022), section 3.1, "close documents": BM25's at first, those of the
 * current model in later iterations.
 */

import { setImmediate } from "node:timers/promises";
import { InputError } from "../../io/errors.ts";
import { createRandom, type Random } from "../../math/random.ts";
import type { Bm25 } from "../../retrieval/bm25/bm25.ts";
import type { Corpus } from "./corpus.ts";
import { type Example, MASK } from "./example.ts";

/** Retrieves the ids of at most `topK` passages for each example, best first. */
export type CandidateRetriever = (
  examples: readonly Example[],
  topK: number,
) => Promise<readonly (readonly string[])[]>;

export interface CandidateOptions {
  readonly retriever: CandidateRetriever;
  /** Candidates of each example: the paper's K. */
  readonly count: number;
  /** The ids of all passages. */
  readonly corpusIds: readonly string[];
  readonly seed: number;
  /** Called with the number of examples that are done. */
  readonly onProgress?: ((examples: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Examples of one search: a token index reads its keys once for all of them. */
const SEARCH_BATCH = 64;

/**
 * The ids of the candidates of each example [examples][count], as retrieved, best first. A relevant
 * passage is always one: it takes the last place if the retriever found none. If the retriever
 * finds too few passages (BM25 finds only those that share a term with the question), random ones
 * are added.
 *
 * @throws {InputError} if the corpus has fewer passages than `count`.
 */
export async function findCandidates(
  examples: readonly Example[],
  { retriever, count, corpusIds, seed, onProgress, signal }: CandidateOptions,
): Promise<string[][]> {
  checkCandidateCount(count, corpusIds.length);
  const candidates: string[][] = [];
  for (let first = 0; first < examples.length; first += SEARCH_BATCH) {
    signal?.throwIfAborted();
    const batch = examples.slice(first, first + SEARCH_BATCH);
    const retrieved = await retriever(batch, count);
    batch.forEach((example, i) => {
      // The old name of candidates is part of the draw's name: it must not change.
      const random = createRandom(seed, "close passages", example.id);
      const found = retrieved[i]!.slice(0, count);
      const best = withPassage(found, relevantCandidate(example, seed), count);
      candidates.push(padWithRandom(best, count, corpusIds, random));
    });
    onProgress?.(candidates.length);
    await setImmediate(); // BM25 never yields to the event loop: without this, no signal arrives
  }
  return candidates;
}

/** Retrieves candidates with BM25, which would match the characters of a mask as words. */
export const bm25Candidates =
  (bm25: Bm25): CandidateRetriever =>
  async (examples, topK) =>
    examples.map(({ question }) =>
      bm25.search(question.replace(MASK, " "), topK).map(({ id }) => id),
    );

/** The retriever of the first iteration: the candidates that an example has, then BM25's. */
export async function firstCandidates(
  examples: readonly Example[],
  corpus: Pick<Corpus, "bm25">,
  count: number,
): Promise<CandidateRetriever> {
  const areEnough = givenCandidates(examples, count) === count * examples.length;
  const others = areEnough ? undefined : bm25Candidates(await corpus.bm25());
  return async (batch, topK) => {
    const found = await others?.(batch, topK);
    return batch.map(({ contexts = [] }, i) =>
      [...new Set([...contexts, ...(found?.[i] ?? [])])].slice(0, topK),
    );
  };
}

/** How many of the first `count` candidates of each example the example has itself. */
export const givenCandidates = (examples: readonly Example[], count: number): number =>
  examples.reduce((sum, { contexts = [] }) => sum + Math.min(contexts.length, count), 0);

/** Takes candidates with a score from the examples that have any: others have no score. */
export const scoredCandidates =
  (retriever: CandidateRetriever): CandidateRetriever =>
  async (examples, topK) => {
    const others = examples.filter(({ scores }) => !scores);
    const found = others.length > 0 ? await retriever(others, topK) : [];
    return examples.map((example) => {
      const { contexts = [], scores } = example;
      if (!scores) return found[others.indexOf(example)]!;
      return contexts.filter((_, i) => scores[i] !== undefined).slice(0, topK);
    });
  };

/** One of the relevant passages. That of a label is drawn for each step instead. */
function relevantCandidate({ id, relevant, labels }: Example, seed: number): string | undefined {
  const known = labels ? [] : relevant;
  return known[known.length > 1 ? createRandom(seed, "relevant", id).integer(known.length) : 0];
}

/** The ids with `id` among them: it takes the last place of `count` if it is new. */
export function withPassage(
  ids: readonly string[],
  id: string | undefined,
  count: number,
): readonly string[] {
  return id === undefined || ids.includes(id) ? ids : [...ids.slice(0, count - 1), id];
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
