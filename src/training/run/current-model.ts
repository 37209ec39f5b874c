/** The current model of a run with an index. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { InputError } from "../../io/errors.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import { hitLists } from "../../reatt/retrieving.ts";
import { ReAtt } from "../../reatt.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import type { Provider } from "../../tensor/session.ts";
import type { Passage } from "../../text/passage.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { CandidateRetriever } from "../examples/candidates.ts";
import type { Corpus } from "../examples/corpus.ts";
import { saveModel } from "./parameters.ts";
import type { Run } from "./run.ts";

/** Where a model is, and how it indexes passages. */
export interface IndexingOptions {
  /** The index is written to its folder `index`. */
  readonly location: string;
  /** The folder of the model. Default: `model` in `location`. */
  readonly model?: string | undefined;
  readonly maxPassageTokens: number;
  readonly provider?: Provider | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Uses a model with its index, which took some seconds to build. */
type Use<Event, Result> = (
  model: ReAtt,
  index: TokenIndex,
  seconds: number,
) => AsyncGenerator<Event, Result>;

/** Saves `parameters` as a model beside the checkpoint, then does as `withIndexedModel`. */
export async function* withCurrentModel<Event, Result>(
  run: Run,
  parameters: ReadonlyMap<string, ParameterState>,
  source: Corpus | readonly Passage[],
  use: Use<Event, Result>,
): AsyncGenerator<Event | ProgressEvent, Result> {
  const { folder, config, batch, device, signal } = run;
  const location = join(folder, "checkpoint", ...("file" in source ? [] : ["monitor"]));
  await saveModel(join(location, "model"), config, parameters, run);
  const { maxPassageTokens } = batch;
  const { provider } = device;
  return yield* withIndexedModel(source, { location, maxPassageTokens, provider, signal }, use);
}

/** Loads a model, indexes the passages unless there is an index, and calls `use` with both. */
export async function* withIndexedModel<Event, Result>(
  source: Corpus | readonly Passage[],
  options: IndexingOptions,
  use: Use<Event, Result>,
): AsyncGenerator<Event | ProgressEvent, Result> {
  const { location, model: folder = join(location, "model"), provider } = options;
  const directory = join(location, "index");
  await using model = await ReAtt.load(folder, { provider });
  const existing = await model.openIndex(directory).catch((error: unknown) => {
    if (error instanceof InputError) return undefined; // none, or one of an earlier model
    throw error;
  });
  const start = performance.now();
  await using index = existing ?? (yield* indexPassages(source, options, model, directory));
  return yield* use(model, index, (performance.now() - start) / 1000);
}

async function* indexPassages(
  source: Corpus | readonly Passage[],
  { maxPassageTokens, signal }: IndexingOptions,
  model: ReAtt,
  directory: string,
): AsyncGenerator<ProgressEvent, TokenIndex> {
  await rm(directory, { recursive: true, force: true });
  const isCorpus = "file" in source;
  const [name, total] = isCorpus
    ? ["indexing the corpus", source.size]
    : ["indexing passages", source.length];
  yield { type: "stage", name, total };
  return yield* reporting<ProgressEvent, TokenIndex>((report) =>
    model.index(isCorpus ? source.passages() : source, {
      directory,
      bits: 32, // training needs the exact ranking
      maxPassageTokens,
      signal: isCorpus ? signal : undefined,
      onProgress: ({ passages }) => report({ type: "progress", done: passages }),
    }),
  );
}

/** Retrieves candidates with a model. */
export const modelCandidates =
  (model: ReAtt, index: TokenIndex): CandidateRetriever =>
  async (questions, topK) => {
    const texts = questions.map(({ question }) => question);
    const retrieved = await hitLists(model.retrieve(texts, index, { topK, hybrid: false }));
    return retrieved.map((hits) => hits.map(({ id }) => id));
  };
