/** The current model of a run with an index of the corpus. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { InputError } from "../../io/errors.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import { ReAtt } from "../../reatt.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import type { Provider } from "../../tensor/session.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { CandidateRetriever } from "../examples/candidates.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { Run } from "./run.ts";
import { saveModel } from "./save-model.ts";

/** Where a model is, and how it indexes the corpus. */
export interface IndexingOptions {
  /** The folder of `model`; the index is written to `index`. */
  readonly location: string;
  readonly maxPassageTokens: number;
  readonly provider?: Provider | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Saves `parameters` as a model beside the checkpoint, then does as `withIndexedModel`. */
export async function* withCurrentModel<Event, Result>(
  { out, model, config, batch, device, signal }: Run,
  parameters: ReadonlyMap<string, ParameterState>,
  corpus: Corpus,
  use: (model: ReAtt, index: TokenIndex) => AsyncGenerator<Event, Result>,
): AsyncGenerator<Event | ProgressEvent, Result> {
  const location = join(out, "checkpoint");
  await saveModel(join(location, "model"), config, parameters, model);
  const { maxPassageTokens } = batch;
  const { provider } = device;
  return yield* withIndexedModel(corpus, { location, maxPassageTokens, provider, signal }, use);
}

/** Loads a model, indexes the corpus unless there is an index, and calls `use` with both. */
export async function* withIndexedModel<Event, Result>(
  corpus: Corpus,
  options: IndexingOptions,
  use: (model: ReAtt, index: TokenIndex) => AsyncGenerator<Event, Result>,
): AsyncGenerator<Event | ProgressEvent, Result> {
  const { location, provider } = options;
  const directory = join(location, "index");
  await using model = await ReAtt.load(join(location, "model"), { provider });
  const existing = await model.openIndex(directory).catch((error: unknown) => {
    if (error instanceof InputError) return undefined; // none, or one of an earlier model
    throw error;
  });
  await using index = existing ?? (yield* indexCorpus(corpus, options, model, directory));
  return yield* use(model, index);
}

async function* indexCorpus(
  corpus: Corpus,
  { maxPassageTokens, signal }: IndexingOptions,
  model: ReAtt,
  directory: string,
): AsyncGenerator<ProgressEvent, TokenIndex> {
  await rm(directory, { recursive: true, force: true });
  yield { type: "stage", name: "indexing the corpus", total: corpus.size };
  return yield* reporting<ProgressEvent, TokenIndex>((report) =>
    model.index(corpus.passages(), {
      directory,
      bits: 32, // training needs the exact ranking
      maxPassageTokens,
      signal,
      onProgress: ({ passages }) => report({ type: "progress", done: passages }),
    }),
  );
}

/** Retrieves candidates with a model. */
export const modelCandidates =
  (model: ReAtt, index: TokenIndex): CandidateRetriever =>
  async (questions, topK) => {
    const texts = questions.map(({ question }) => question);
    const retrieved = await model.retrieve(texts, index, { topK });
    return retrieved.map((hits) => hits.map(({ id }) => id));
  };
