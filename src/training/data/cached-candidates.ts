/** The close passages of an iteration: found once and kept on disk, so that a run that is resumed has the same. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { reporting, type ProgressEvent } from "../../io/progress.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { type CloseSearch, closePassages } from "./candidates.ts";
import { readClosePassages, writeClosePassages } from "./candidates-file.ts";
import type { CorpusSurvey } from "./corpus.ts";
import type { TrainingQuestion } from "./training-questions.ts";

export interface CloseRequest {
  /** Name of the file in the run's folder. */
  readonly name: string;
  readonly questions: readonly TrainingQuestion[];
  /** Close passages of a question. */
  readonly count: number;
  /** Called if they have to be found. */
  readonly search: () => Promise<CloseSearch>;
}

/** The ids of the close passages, [questions][count]. @throws {InputError} as `closePassages` and `readClosePassages` do. */
export async function* keptClosePassages(
  { out, resume, seed, signal }: ResolvedOptions,
  corpus: CorpusSurvey,
  { name, questions, count, search }: CloseRequest,
): AsyncGenerator<ProgressEvent, string[][]> {
  const file = join(out, name);
  const source = { questions, count, corpus: corpus.digest };
  if (resume && existsSync(file)) return readClosePassages(file, source);
  yield { type: "stage", name: "close passages", total: questions.length };
  const finder = await search();
  const close = yield* reporting<ProgressEvent, string[][]>((report) =>
    closePassages(questions, {
      search: finder,
      count,
      corpusIds: corpus.ids,
      seed,
      signal,
      onProgress: (done) => report({ type: "progress", done }),
    }),
  );
  await writeClosePassages(file, source, close);
  return close;
}
