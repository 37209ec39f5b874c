/** The model as training has made it up to now, with an index of the corpus. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { InputError } from "../../io/errors.ts";
import { reporting } from "../../io/progress.ts";
import type { ModelConfig } from "../../model/config.ts";
import { ReAtt } from "../../reatt.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import type { Provider } from "../../tensor/session.ts";
import type { CandidateRetriever } from "../data/candidates.ts";
import { type CorpusSurvey, readUnchanged } from "../data/corpus.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import type { TrainingEvent } from "./events.ts";
import { saveModel } from "./save-model.ts";

/** Where a model lies, and what it is to index. */
export interface IndexingSettings {
  /** Has the model in `model`; the index goes to `index`. */
  readonly location: string;
  readonly corpus: { readonly file: string; readonly digest: string; readonly passages: number };
  readonly maxPassageTokens: number;
  readonly provider?: Provider | undefined;
}

export const indexingSettings = (
  { corpus: file, maxPassageTokens, provider }: ResolvedOptions,
  { digest, ids }: CorpusSurvey,
  location: string,
): IndexingSettings => ({
  ...{ location, maxPassageTokens, provider },
  corpus: { file, digest, passages: ids.length },
});

/** Saves `parameters` as a model beside the checkpoint, and goes on as `withIndexedModel` does. */
export async function* withCurrentModel<Result>(
  options: ResolvedOptions,
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  corpus: CorpusSurvey,
  use: (model: ReAtt, index: TokenIndex) => AsyncGenerator<TrainingEvent, Result>,
): AsyncGenerator<TrainingEvent, Result> {
  const location = join(options.out, "checkpoint");
  await saveModel(join(location, "model"), config, parameters, options.model);
  return yield* withIndexedModel(indexingSettings(options, corpus, location), use, options.signal);
}

/** Loads a model, indexes the corpus with it unless that is done, and lends both to `use`. */
export async function* withIndexedModel<Result>(
  settings: IndexingSettings,
  use: (model: ReAtt, index: TokenIndex) => AsyncGenerator<TrainingEvent, Result>,
  signal?: AbortSignal,
): AsyncGenerator<TrainingEvent, Result> {
  const { location, provider } = settings;
  const directory = join(location, "index");
  await using model = await ReAtt.load(join(location, "model"), { provider });
  const known = await model.openIndex(directory).catch((error: unknown) => {
    if (error instanceof InputError) return undefined; // none, or of the model as it was before
    throw error;
  });
  await using index = known ?? (yield* indexCorpus(settings, model, directory, signal));
  return yield* use(model, index);
}

async function* indexCorpus(
  { corpus: { file, digest, passages: total }, maxPassageTokens }: IndexingSettings,
  model: ReAtt,
  directory: string,
  signal?: AbortSignal,
): AsyncGenerator<TrainingEvent, TokenIndex> {
  await rm(directory, { recursive: true, force: true });
  yield { type: "stage", name: "indexing the corpus", total };
  return yield* reporting((report) =>
    model.index(readUnchanged(file, digest, signal), {
      directory,
      maxPassageTokens,
      signal,
      onProgress: ({ passages }) => report({ type: "progress", done: passages }),
    }),
  );
}

/** Close passages as the model finds them. */
export const modelSearch =
  (model: ReAtt, index: TokenIndex): CandidateRetriever =>
  async (questions, topK) => {
    const hits = await model.retrieve(
      questions.map(({ question }) => question),
      index,
      { topK },
    );
    return hits.map((found) => found.map(({ id }) => id));
  };
