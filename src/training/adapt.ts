/** Adapts a model to another corpus. Source: ReAtt (Jiang et al. 2022), sections 3.3 and 6. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { InputError } from "../io/errors.ts";
import { type ProgressEvent, reporting } from "../io/progress.ts";
import { planEntries } from "../options/records.ts";
import { ReAtt } from "../reatt.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { adaptationData } from "./adaptation/adaptation-data.ts";
import { writeModelCard } from "./adaptation/card.ts";
import { availableExamples } from "./adaptation/example-counts.ts";
import { readInputs } from "./adaptation/inputs.ts";
import { type AdaptationPlan, planAdaptation } from "./adaptation/plan.ts";
import { retrievalHeadOf } from "./adaptation/retrieval-head.ts";
import { type Corpus, openCorpus } from "./data/corpus.ts";
import {
  type AdaptOptions,
  type ResolvedAdaptOptions,
  sourcesOf,
  withAdaptDefaults,
} from "./options/adapt-options.ts";
import { withModelTau } from "./options/model-tau.ts";
import { TRAIN_OPTIONS } from "./options/train-options.ts";
import { checkChosen, findRun } from "./run/checkpoint.ts";
import type { TrainingEvent, TrainingResult } from "./run/events.ts";
import { runTraining } from "./run/run-training.ts";
import { saveModel } from "./run/save-model.ts";
import { readTrainedConfig, startingParameters } from "./run/starting-parameters.ts";

/** What `adapt` yields: its plan first, then the events of the training. */
export type AdaptationEvent =
  | TrainingEvent
  | { readonly type: "plan"; readonly plan: AdaptationPlan };

export interface AdaptationResult {
  readonly plan: AdaptationPlan;
  /** Undefined after a dry run. */
  readonly training?: TrainingResult | undefined;
  /**
   * Folder of the index of the adapted model. Undefined with `querySide`, after a dry run, and if
   * training was stopped before its end.
   */
  readonly index?: string | undefined;
}

/**
 * Adapts a model to a corpus with masked sentences of the corpus, with questions and answers, with
 * relevance labels, or with a mixture of these.
 *
 * It first yields a plan with estimates of time, memory and disk space. With `dryRun` it returns
 * then, and writes nothing. Otherwise it trains (see `train`: log, report, checkpoints, `resume`)
 * and measures retrieval on held-out examples. Training ends early if retrieval collapses or a loss
 * is not finite. The model that retrieves best is saved, which may be the original model. At the
 * end it writes a model card, and an index of the corpus to `out/index`.
 *
 * Source: ReAtt (Jiang et al. 2022), sections 3.3 and 6.
 *
 * @returns the plan, the result of the training, and the folder of the index
 * @throws {InputError} if a file or an option cannot be used, if the corpus has no sentence to
 *   mask, and if the labels are of another set.
 *
 * @example
 * ```ts no-run
 * import { adapt } from "reatt/training";
 *
 * const run = adapt({
 *   model: "models/reatt-mini",
 *   corpus: "data/squad/corpus.jsonl",
 *   out: "runs/adapted",
 *   steps: 100,
 * });
 * for (let next = await run.next(); ; next = await run.next()) {
 *   if (next.done) {
 *     console.log(next.value.training?.monitor?.after);
 *     break;
 *   }
 *   if (next.value.type === "plan") console.log(`about ${next.value.plan.seconds} s`);
 * }
 * ```
 */
export async function* adapt(
  given: AdaptOptions,
): AsyncGenerator<AdaptationEvent, AdaptationResult> {
  const sources = sourcesOf(given);
  yield { type: "stage", name: "reading the corpus" };
  await using corpus = await openCorpus(given.corpus, {
    signal: given.signal,
    bm25: !given.resume && !given.dryRun, // a new run searches its first candidates with it
  });
  const inputs = await readInputs(given, sources, corpus);
  const options = withAdaptDefaults(
    await withModelTau(given),
    availableExamples(inputs, corpus),
    corpus.size,
  );
  const found = await findRun(options.out, options.resume); // before any of its files is touched
  if (found) checkChosen(options.out, found, planEntries(TRAIN_OPTIONS, { ...options }));
  const config = await readTrainedConfig(options);
  const tokenizer = await loadTokenizer(join(options.model, "spiece.model"), config.vocabularySize);
  const plan = await planAdaptation(options, config, corpus, inputs, tokenizer);
  yield { type: "plan", plan };
  if (options.dryRun) return { plan };

  await mkdir(options.out, { recursive: true });
  const data = yield* adaptationData(options, corpus, inputs);
  const { dev: _, tagger: __, weights: ___, ...run } = options; // `data` contains all three
  const retrievalHead = yield* retrievalHeadOf(options, config, corpus, inputs);
  const training = yield* runTraining(run, { ...config, retrievalHead }, data, corpus);
  if (!training.finished) return { plan, training };
  if (training.failure && !training.monitor)
    await saveModel(run.out, config, await startingParameters(run, config), run.model);
  options.signal?.throwIfAborted(); // the run can be stopped in its last step
  await writeModelCard(options, { plan, training, corpus, data: data.digest });
  if (options.querySide) return { plan, training }; // an index of the original model stays valid
  return { plan, training, index: yield* indexAdapted(options, corpus) };
}

/** Indexes the corpus. A resumed run completes a partial index and keeps a complete one. */
async function* indexAdapted(
  { out, provider, maxPassageTokens, resume, signal }: ResolvedAdaptOptions,
  corpus: Corpus,
): AsyncGenerator<ProgressEvent, string> {
  const directory = join(out, "index");
  await using model = await ReAtt.load(out, { provider });
  if (resume && (await hasIndex(model, directory))) return directory;
  yield { type: "stage", name: "indexing the corpus", total: corpus.size };
  const index = yield* reporting<ProgressEvent, AsyncDisposable>((report) =>
    model.index(corpus.passages(), {
      directory,
      maxPassageTokens,
      signal,
      onProgress: ({ passages }) => report({ type: "progress", done: passages }),
    }),
  );
  await index[Symbol.asyncDispose]();
  return directory;
}

async function hasIndex(model: ReAtt, directory: string): Promise<boolean> {
  try {
    const index = await model.openIndex(directory);
    await index[Symbol.asyncDispose]();
    return true;
  } catch (error) {
    if (error instanceof InputError) return false; // none, a partial one, or one of another model
    throw error;
  }
}
