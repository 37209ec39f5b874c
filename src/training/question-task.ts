/** Training from questions and answers: what a run trains on, iteration by iteration. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildBm25 } from "../retrieval/bm25.ts";
import { readPassages } from "../text/corpus.ts";
import { bm25Search, type CloseSearch, closePassages, contextSearch } from "./close-passages.ts";
import { readClosePassages, writeClosePassages } from "./close-passages-file.ts";
import { type CorpusSurvey, pickPassages } from "./corpus.ts";
import { digestQuestions, drawAnswer, readTrainingFile, type TrainingQuestion } from "./data.ts";
import { reporting, type TrainingEvent } from "./events.ts";
import type { ResolvedOptions } from "./options.ts";
import type { ExampleSource } from "./source.ts";

/** What a run trains on. */
export interface TrainingTask {
  /** Identifies the data: a run is resumed only with the same. */
  readonly digest: string;
  /**
   * The examples of an iteration, counted from 0. `search` finds passages with the model as it is then; the first
   * iteration has none. Kept on disk, so that a run that is resumed has the same.
   */
  prepare(iteration: number, search: CloseSearch | undefined): AsyncGenerator<TrainingEvent, ExampleSource>;
}

/** The task of `reatt train`. Reads the training file. @throws {InputError} where it, or the corpus for it, is not as it should be. */
export async function questionTask(options: ResolvedOptions, corpus: CorpusSurvey): Promise<TrainingTask> {
  const { signal, closePassages: count } = options;
  const questions = await readTrainingFile(options.data, signal);
  const source = { questions, count, corpus: corpus.digest };
  return {
    digest: digestQuestions(questions),
    async *prepare(iteration, search) {
      const file = join(options.out, `close-passages-${iteration}.jsonl`);
      const known = options.resume && existsSync(file);
      const close = known
        ? await readClosePassages(file, source)
        : yield* findClosePassages(options, corpus, questions, search);
      if (!known) await writeClosePassages(file, source, close);
      const passages = await pickPassages(options.corpus, close.flat(), corpus.digest, signal);
      const seed = `${options.seed} ${iteration}`;
      return {
        size: questions.length,
        example: (index, step) => ({
          question: questions[index]!.question,
          answer: drawAnswer(questions[index]!, { seed, step }),
          passages: close[index]!.map((id) => passages.get(id)!),
        }),
      };
    },
  };
}

/** By the model, or for the first iteration as the training file has them, or else by BM25. */
async function* findClosePassages(
  options: ResolvedOptions,
  corpus: CorpusSurvey,
  questions: readonly TrainingQuestion[],
  search: CloseSearch | undefined,
): AsyncGenerator<TrainingEvent, string[][]> {
  const given = questions.every(({ contexts = [] }) => contexts.length >= options.closePassages);
  const first =
    search ?? (given ? contextSearch : bm25Search(await buildBm25(readPassages(options.corpus), options)));
  yield { type: "stage", name: "close passages", total: questions.length };
  return yield* reporting((report) =>
    closePassages(questions, {
      search: first,
      count: options.closePassages,
      corpusIds: corpus.ids,
      seed: options.seed,
      signal: options.signal,
      onProgress: (done) => report({ type: "progress", done }),
    }),
  );
}
