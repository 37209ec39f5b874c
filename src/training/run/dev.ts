/** The dev questions of a run, and what BM25 retrieves for them. */

import type { Bm25 } from "../../retrieval/bm25/bm25.ts";
import type { Corpus } from "../examples/corpus.ts";
import { readQuestionsAbout, type TrainingQuestion } from "../examples/training-questions.ts";
import type { Baseline } from "../report/report.ts";
import { CUTOFFS, recallOf } from "./evaluate.ts";
import type { Run } from "./run.ts";

export interface DevSet {
  readonly questions: readonly TrainingQuestion[];
  readonly baseline: Baseline;
  /** BM25 over the corpus. */
  readonly lexical: Bm25;
}

/**
 * Reads the dev file and measures BM25 on it. Returns undefined if the run has no dev file.
 *
 * @throws {InputError} as `readQuestionsAbout` does.
 */
export async function openDevSet(
  { measurements: { dev, devQuestions }, signal }: Run,
  corpus: Corpus,
): Promise<DevSet | undefined> {
  if (dev === undefined) return undefined;
  const questions = (await readQuestionsAbout(corpus, dev, signal)).slice(0, devQuestions);
  const bm25 = await corpus.bm25();
  const retrieved = questions.map(({ question }) =>
    bm25.search(question, Math.max(...CUTOFFS)).map(({ id }) => id),
  );
  const passages = await corpus.pick(retrieved.flat());
  const measures = recallOf(
    questions,
    retrieved.map((ids) => ids.map((id) => passages.get(id)!)),
  );
  return { questions, baseline: { name: "BM25", measures }, lexical: bm25 };
}
