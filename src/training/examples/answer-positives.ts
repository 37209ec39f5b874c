/**
 * Positives of questions without a label: the best passage of BM25 that contains an answer.
 *
 * Source: DPR (Karpukhin et al. 2020), section 4.2.
 */

import { setImmediate } from "node:timers/promises";
import { answerTokens, containsTokens } from "../../evaluation/answers.ts";
import type { ProgressEvent } from "../../io/progress.ts";
import type { Corpus } from "./corpus.ts";
import type { TrainingQuestion } from "./training-questions.ts";

/** Passages of BM25 that are searched for an answer, as in DPR. */
const DEPTH = 100;
/** Questions between two looks at the signal. */
const SEARCH_BATCH = 64;

/** A passage that BM25 found for a question. */
interface Found {
  readonly question: number;
  readonly rank: number;
}

/**
 * The questions, each with its best passage as `passageId`. Questions that have one, or scores of
 * their contexts, stay as they are; so do those whose answer is in none of BM25's passages.
 */
export async function* withAnswerPositives(
  questions: readonly TrainingQuestion[],
  corpus: Pick<Corpus, "bm25" | "passages">,
  signal?: AbortSignal,
): AsyncGenerator<ProgressEvent, readonly TrainingQuestion[]> {
  const isUnlabelled = ({ passageId, scores }: TrainingQuestion): boolean =>
    passageId === undefined && scores === undefined;
  if (!questions.some(isUnlabelled)) return questions;
  yield { type: "stage", name: "finding passages that contain an answer" };
  const found = new Map<string, Found[]>(); // by passage
  const bm25 = await corpus.bm25();
  for (const [i, question] of questions.entries()) {
    if (i % SEARCH_BATCH === 0) await setImmediate(); // without this, no signal arrives
    signal?.throwIfAborted();
    if (!isUnlabelled(question)) continue;
    for (const [rank, { id }] of bm25.search(question.question, DEPTH).entries()) {
      const ofPassage = found.get(id) ?? [];
      ofPassage.push({ question: i, rank });
      found.set(id, ofPassage);
    }
  }
  const answers = questions.map((question) => question.answers.map(answerTokens));
  const best = new Map<number, { readonly id: string; readonly rank: number }>(); // by question
  for await (const { id, text } of corpus.passages((candidate) => found.has(candidate))) {
    signal?.throwIfAborted();
    const tokens = answerTokens(text);
    for (const { question, rank } of found.get(id)!)
      if (rank < (best.get(question)?.rank ?? DEPTH))
        if (answers[question]!.some((answer) => containsTokens(tokens, answer)))
          best.set(question, { id, rank });
  }
  return questions.map((question, i) => {
    const passageId = best.get(i)?.id;
    return passageId === undefined ? question : { ...question, passageId };
  });
}
