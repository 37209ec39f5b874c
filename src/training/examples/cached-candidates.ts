/** The candidates of an iteration, found once and kept on disk for a resumed run. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { type CandidateRetriever, findCandidates } from "./candidates.ts";
import { readCandidates, writeCandidates } from "./candidates-file.ts";
import type { Corpus } from "./corpus.ts";
import type { TrainingQuestion } from "./training-questions.ts";

export interface CandidateRequest {
  /** File name in the folder of the run. */
  readonly name: string;
  readonly questions: readonly TrainingQuestion[];
  /** Candidates of each question. */
  readonly count: number;
  /** Called only if the candidates are not on disk. */
  readonly openRetriever: () => Promise<CandidateRetriever>;
}

/**
 * The ids of the candidates [questions][count].
 *
 * @throws {InputError} as `findCandidates` and `readCandidates` do.
 */
export async function* cachedCandidates(
  { out, resume, seed, signal }: ResolvedOptions,
  corpus: Corpus,
  { name, questions, count, openRetriever }: CandidateRequest,
): AsyncGenerator<ProgressEvent, string[][]> {
  const file = join(out, name);
  const source = { questions, count, corpus: corpus.digest };
  if (resume && existsSync(file)) return readCandidates(file, source);
  yield { type: "stage", name: "finding candidates", total: questions.length };
  const retriever = await openRetriever();
  const candidates = yield* reporting<ProgressEvent, string[][]>((report) =>
    findCandidates(questions, {
      ...{ retriever, count, seed, signal },
      corpusIds: corpus.ids,
      onProgress: (done) => report({ type: "progress", done }),
    }),
  );
  await writeCandidates(file, source, candidates);
  return candidates;
}
