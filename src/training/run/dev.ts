/** The questions that a run is measured on, and how BM25 does on them. */

import { buildBm25 } from "../../retrieval/bm25/bm25.ts";
import { type CorpusSurvey, pickPassages, readUnchanged } from "../data/corpus.ts";
import { readQuestionsAbout, type TrainingQuestion } from "../data/training-questions.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import type { Baseline } from "../report/report.ts";
import { CUTOFFS, recallOf } from "./evaluate.ts";

export interface DevSet {
  readonly questions: readonly TrainingQuestion[];
  readonly baseline: Baseline;
}

/** Undefined where the run has no dev file. @throws {InputError} where it can't be read, or is about another corpus. */
export async function openDevSet(
  { dev, devQuestions, corpus: file, signal }: ResolvedOptions,
  corpus: CorpusSurvey,
): Promise<DevSet | undefined> {
  if (dev === undefined) return undefined;
  const questions = (await readQuestionsAbout(corpus, dev, signal)).slice(0, devQuestions);
  const bm25 = await buildBm25(readUnchanged(file, corpus.digest, signal), { signal });
  const found = questions.map(({ question }) =>
    bm25.search(question, Math.max(...CUTOFFS)).map(({ id }) => id),
  );
  const passages = await pickPassages(file, found.flat(), corpus.digest, signal);
  const measures = recallOf(
    questions,
    found.map((ids) => ids.map((id) => passages.get(id)!)),
  );
  return { questions, baseline: { name: "BM25", measures } };
}
