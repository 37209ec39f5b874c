/** The close passages of an iteration: found once and kept on disk, so that a run that is resumed has the same. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { type CandidateRetriever, findCandidates } from "./candidates.ts";
import { readCandidates, writeCandidates } from "./candidates-file.ts";
import type { CorpusSurvey } from "./corpus.ts";
import type { TrainingQuestion } from "./training-questions.ts";

export interface CandidateRequest {
  /** Name of the file in the run's folder. */
  readonly name: string;
  readonly questions: readonly TrainingQuestion[];
  /** Close passages of a question. */
  readonly count: number;
  /** Called if they have to be found. */
  readonly search: () => Promise<CandidateRetriever>;
}

/** The ids of the close passages, [questions][count]. @throws {InputError} as `findCandidates` and `readCandidates` do. */
export async function* cachedCandidates(
  { out, resume, seed, signal }: ResolvedOptions,
  corpus: CorpusSurvey,
  { name, questions, count, search }: CandidateRequest,
): AsyncGenerator<ProgressEvent, string[][]> {
  const file = join(out, name);
  const source = { questions, count, corpus: corpus.digest };
  if (resume && existsSync(file)) return readCandidates(file, source);
  yield { type: "stage", name: "close passages", total: questions.length };
  const finder = await search();
  const close = yield* reporting<ProgressEvent, string[][]>((report) =>
    findCandidates(questions, {
      search: finder,
      count,
      corpusIds: corpus.ids,
      seed,
      signal,
      onProgress: (done) => report({ type: "progress", done }),
    }),
  );
  await writeCandidates(file, source, close);
  return close;
}
