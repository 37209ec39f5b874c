/** The model as training has made it up to now, with an index of the corpus. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ModelConfig } from "../../config.ts";
import { InputError } from "../../errors.ts";
import { ReAtt } from "../../reatt.ts";
import type { TokenIndex } from "../../retrieval/token-index.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { CloseSearch } from "../tasks/close-passages.ts";
import { type CorpusSurvey, readUnchanged } from "../tasks/corpus.ts";
import { reporting, type TrainingEvent } from "./events.ts";
import type { ResolvedOptions } from "./options.ts";
import { saveModel } from "./save-model.ts";

/** Saves `parameters` as a model beside the checkpoint, indexes the corpus with it unless that is done, and lends both to `use`. */
export async function* withCurrentModel<Result>(
  options: ResolvedOptions,
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  corpus: CorpusSurvey,
  use: (model: ReAtt, index: TokenIndex) => AsyncGenerator<TrainingEvent, Result>,
): AsyncGenerator<TrainingEvent, Result> {
  const folder = join(options.out, "checkpoint", "model");
  const directory = join(options.out, "checkpoint", "index");
  await saveModel(folder, config, parameters, options.model);
  await using model = await ReAtt.load(folder, { provider: options.provider });
  const known = await model.openIndex(directory).catch((error: unknown) => {
    if (error instanceof InputError) return undefined; // none, or of the model as it was before
    throw error;
  });
  await using index = known ?? (yield* indexCorpus(options, model, directory, corpus));
  return yield* use(model, index);
}

async function* indexCorpus(
  { corpus: file, maxPassageTokens, signal }: ResolvedOptions,
  model: ReAtt,
  directory: string,
  corpus: CorpusSurvey,
): AsyncGenerator<TrainingEvent, TokenIndex> {
  await rm(directory, { recursive: true, force: true });
  yield { type: "stage", name: "indexing the corpus", total: corpus.ids.length };
  return yield* reporting((report) =>
    model.index(readUnchanged(file, corpus.digest, signal), {
      directory,
      maxPassageTokens,
      signal,
      onProgress: ({ passages }) => report({ type: "progress", done: passages }),
    }),
  );
}

/** Close passages as the model finds them. */
export const modelSearch =
  (model: ReAtt, index: TokenIndex): CloseSearch =>
  async (questions, topK) => {
    const hits = await model.retrieve(
      questions.map(({ question }) => question),
      index,
      { topK },
    );
    return hits.map((found) => found.map(({ id }) => id));
  };
