/** Moves a model to another corpus as a whole. Source: ReAtt (Jiang et al. 2022), sections 3.3 and 6. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { InputError } from "../io/errors.ts";
import { type ProgressEvent, reporting } from "../io/progress.ts";
import { type ModelConfig, readConfig } from "../model/config.ts";
import { ReAtt } from "../reatt.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { writeModelCard } from "./adaptation/card.ts";
import { readInputs } from "./adaptation/inputs.ts";
import { type AdaptationPlan, planAdaptation } from "./adaptation/plan.ts";
import { adaptationTask, availableExamples } from "./adaptation/task.ts";
import { type CorpusSurvey, readUnchanged, surveyCorpus } from "./data/corpus.ts";
import {
  type AdaptOptions,
  type ResolvedAdaptOptions,
  sourcesOf,
  withAdaptDefaults,
} from "./options/adapt-options.ts";
import { findRun } from "./run/checkpoint.ts";
import type { TrainingEvent, TrainingResult } from "./run/events.ts";
import { saveModel } from "./run/save-model.ts";
import { startingParameters } from "./run/starting-parameters.ts";
import { runTraining } from "./train.ts";

/** What an adaptation tells while it runs: first its plan. */
export type AdaptationEvent =
  | TrainingEvent
  | { readonly type: "plan"; readonly plan: AdaptationPlan };

export interface AdaptationResult {
  readonly plan: AdaptationPlan;
  /** Undefined after a dry run. */
  readonly training?: TrainingResult | undefined;
  /** Folder of the adapted model's index; undefined where training was stopped before its end, and with `querySide`. */
  readonly index?: string | undefined;
}

/**
 * Adapts a model to a corpus: with masked sentences of the corpus, with questions and answers, with relevance labels, or
 * with a mixture. First says what it is going to do; with `dryRun` that is all, and nothing is written. Then trains (see
 * `train`: log, report, checkpoints, `resume`), watching retrieval on examples that it does not train on: if that falls
 * away or a loss is not finite, training stops, and whatever happens, the model that retrieved best is the one that is kept: the
 * one that it began with, if none was better. Last writes a model card and indexes the corpus, in `out/index`.
 *
 * @throws {InputError} for files and options that can't be used, a corpus without a sentence to mask, labels of another set.
 */
export async function* adapt(
  given: AdaptOptions,
): AsyncGenerator<AdaptationEvent, AdaptationResult> {
  const sources = sourcesOf(given);
  yield { type: "stage", name: "reading the corpus" };
  const corpus = await surveyCorpus(given.corpus, given.signal);
  const inputs = await readInputs(given, sources, corpus);
  const options = withAdaptDefaults(given, availableExamples(inputs, corpus), corpus.ids.length);
  await findRun(options.out, options.resume); // before any of its files is touched
  const config = await configOf(options);
  const tokenizer = await loadTokenizer(join(options.model, "spiece.model"), config.vocabularySize);
  const plan = await planAdaptation(options, config, corpus, inputs, tokenizer);
  yield { type: "plan", plan };
  if (options.dryRun) return { plan };

  await mkdir(options.out, { recursive: true });
  const task = yield* adaptationTask(options, corpus, inputs);
  const { dev: _, tagger: __, weights: ___, ...run } = options; // all three are part of the task by now
  const training = yield* runTraining(run, config, task, corpus);
  if (!training.finished) return { plan, training };
  if (training.failure && !training.monitor)
    await saveModel(run.out, config, await startingParameters(run, config), run.model);
  options.signal?.throwIfAborted(); // the last step may be where it was stopped
  await writeModelCard(options, { plan, training, corpus, data: task.digest });
  if (options.querySide) return { plan, training }; // an index of the model that it began with serves this one too
  return { plan, training, index: yield* indexAdapted(options, corpus) };
}

/** The configuration of the adapted model. */
async function configOf({
  model,
  querySide,
}: Pick<ResolvedAdaptOptions, "model" | "querySide">): Promise<ModelConfig> {
  const config = await readConfig(model);
  return querySide === "layers" ? { ...config, queryEncoder: true } : config;
}

/** Goes on with an index that was begun; a run that is resumed leaves one that is whole. */
async function* indexAdapted(
  { out, corpus: file, provider, maxPassageTokens, resume, signal }: ResolvedAdaptOptions,
  corpus: CorpusSurvey,
): AsyncGenerator<ProgressEvent, string> {
  const directory = join(out, "index");
  await using model = await ReAtt.load(out, { provider });
  if (resume && (await hasIndex(model, directory))) return directory;
  yield { type: "stage", name: "indexing the corpus", total: corpus.ids.length };
  const index = yield* reporting<ProgressEvent, AsyncDisposable>((report) =>
    model.index(readUnchanged(file, corpus.digest, signal), {
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
    if (error instanceof InputError) return false; // none, half of one, or of the model as it was before
    throw error;
  }
}
