/** The questions that a run is measured on, and how BM25 does on them. */

import { buildBm25 } from "../retrieval/bm25.ts";
import { readPassages } from "../text/corpus.ts";
import type { Passage } from "../text/passage.ts";
import { readTrainingFile, type TrainingQuestion } from "./data.ts";
import { CUTOFFS, recallOf } from "./evaluate.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Baseline } from "./report.ts";

export interface DevSet {
  readonly questions: readonly TrainingQuestion[];
  readonly baseline: Baseline;
}

/** Undefined where the run has no dev file. @throws {InputError} where it can't be read. */
export async function openDevSet({
  dev,
  devQuestions,
  corpus,
  signal,
}: ResolvedOptions): Promise<DevSet | undefined> {
  if (dev === undefined) return undefined;
  const questions = (await readTrainingFile(dev, signal)).slice(0, devQuestions);
  const bm25 = await buildBm25(readPassages(corpus), { signal });
  const found = questions.map(({ question }) =>
    bm25.search(question, Math.max(...CUTOFFS)).map(({ id }) => id),
  );
  const wanted = new Set(found.flat());
  const passages = new Map<string, Passage>();
  for await (const passage of readPassages(corpus, signal))
    if (wanted.has(passage.id)) passages.set(passage.id, passage);
  const measures = recallOf(
    questions,
    found.map((ids) => ids.map((id) => passages.get(id)!)),
  );
  return { questions, baseline: { name: "BM25", measures } };
}
