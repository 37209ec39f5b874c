/** Adapts a model to another corpus. Source: ReAtt (Jiang et al. 2022), sections 3.3 and 6. */

import { join } from "node:path";
import { createOutputDirectory } from "../io/create-directory.ts";
import { InputError } from "../io/errors.ts";
import { type ProgressEvent, reporting } from "../io/progress.ts";
import { cardEntries } from "../options/records.ts";
import { ReAtt } from "../reatt.ts";
import type { CutText } from "../retrieval/index/format/manifest.ts";
import { loadTokenizer, tokenizerFile } from "../text/tokens/tokenizer.ts";
import {
  type Adaptation,
  availableExamples,
  heldOutQuestions,
  measuredWith,
  plannedExamples,
  resolveAdaptation,
} from "./adaptation/adaptation.ts";
import { adaptationData } from "./adaptation/adaptation-data.ts";
import { readInputs, readPassages } from "./adaptation/inputs.ts";
import { chooseSources } from "./adaptation/label-free.ts";
import { type DocumentsEvent, passagesOf } from "./adaptation/passages.ts";
import { type AdaptationResult, recordedOptions, writeRecord } from "./adaptation/record.ts";
import { countTokenWeights } from "./adaptation/token-weights.ts";
import { type Corpus, openCorpus } from "./examples/corpus.ts";
import {
  ADAPT_OPTIONS,
  type AdaptOptions,
  checkFiles,
  type RequestedSources,
  requestedSources,
  type StartOptions,
  withAdaptDefaults,
} from "./options/adapt-options.ts";
import { withModelFolder } from "./options/model-folder.ts";
import { INDEX_PASSAGE_TOKENS } from "./plan/pace.ts";
import { budgetOf, estimateRun, type PlanEvent, planRun, withSteps } from "./plan/plan.ts";
import { fileSamples } from "./plan/samples.ts";
import { fitToMachine } from "./plan/timed-pace.ts";
import { writeModelCard } from "./run/card.ts";
import { checkDecisions, findRun, removeCheckpoint } from "./run/checkpoint.ts";
import type { RunEvent } from "./run/events.ts";
import { readStartingModel, saveStart } from "./run/parameters.ts";
import { decisionsOf } from "./run/run.ts";
import { runTraining } from "./run/run-training.ts";
import { verdictOf } from "./verdict/verdict.ts";

export type { AdaptationResult } from "./adaptation/record.ts";

/** What `adapt` yields: its plan first, then the events of the training. */
export type AdaptationEvent = RunEvent | PlanEvent | DocumentsEvent;

/**
 * Adapts a model to a corpus with examples that are made of its documents, with questions and
 * answers, with relevance labels, or with a mixture of these.
 *
 * It first yields a plan with estimates of time, memory and disk space. With `dryRun` it returns
 * then, and writes nothing. Otherwise it trains (see `train`: log, report, checkpoints, `resume`)
 * and measures retrieval on held-out examples. Training ends early if a loss is not finite, or if
 * retrieval is clearly below its best in three measurements in a row. The model that retrieves best
 * is saved to `out`, which may be the original model, with a model card. Everything else is in
 * `out.run`: an index of the corpus, the report, the log, what was made of the documents, and the
 * checkpoint, which is deleted at the end unless `keepCheckpoint` is set.
 *
 * With `minutes`, it ends after that time: it measures how long steps and measurements take, and
 * corrects the number of steps while it runs. It does what fits, and says if that is too little.
 * `{ out, resume: true }` continues a run.
 *
 * Source: ReAtt (Jiang et al. 2022), sections 3.3 and 6.
 *
 * @returns the plan, the result of the training, the folder of the index, and a verdict
 * @throws {InputError} if a file or an option cannot be used, if no example can be made of the
 *   documents, and if the labels are of another set.
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
 *     console.log(next.value.verdict);
 *     break;
 *   }
 *   if (next.value.type === "plan") console.log(`about ${next.value.plan.seconds} s`);
 * }
 * ```
 */
export async function* adapt(
  given: AdaptOptions,
): AsyncGenerator<AdaptationEvent, AdaptationResult> {
  const started = performance.now();
  const { given: named, result } = await recordedOptions(given);
  if (result) return result; // it was complete
  const requested = requestedSources(named);
  const located = yield* withModelFolder(named);
  checkFiles(located);
  await using passages = yield* passagesOf(located);
  yield { type: "stage", name: "reading the corpus" };
  await using corpus = await openCorpus(passages.file, { signal: located.signal });
  const prepared = await prepare({ ...located, corpus: passages.file }, requested, corpus);
  const { inputs, plan, found, isBased, countTokens } = prepared;
  for (const what of inputs.leftOut) yield { type: "stage", name: `left out: ${what}` };
  yield { type: "plan", plan };
  if (located.dryRun) return { plan };

  await createOutputDirectory(prepared.run.folder);
  const { run, work, estimate } =
    found || !isBased ? prepared : yield* fitToMachine(prepared, corpus);
  const { writesIndex } = work;
  const options = { ...prepared.options, index: writesIndex };
  if (!found) await writeRecord(options);
  const examples = yield* adaptationData(run, corpus, inputs);
  const data = {
    ...examples,
    ...(run.config.retrievalAttention.tokenWeights && { tokenWeights: countTokens }),
  };
  const budget = budgetOf(run, started - 1000 * (found?.seconds ?? 0), work, estimate);
  const training = yield* runTraining(run, data, corpus, budget);
  if (!training.finished) return { plan, training };
  if (training.failure && !training.outcome) await saveStart(run);
  run.signal?.throwIfAborted(); // the run can be stopped in its last step
  const seconds = (): number => (found?.seconds ?? 0) + (performance.now() - started) / 1000;
  const verdict = verdictOf(training);
  const sources = plan.sources.map(({ name, examples }) => `${name} (up to ${examples} examples)`);
  const ofIndex = " An index made with the base model is valid for it.";
  await writeModelCard(run, {
    isBased,
    description: `A ReAtt model adapted to a corpus.${run.keepsIndex ? ofIndex : ""}`,
    corpus: { file: options.corpus, passages: corpus.size, digest: corpus.digest },
    trainedOn: sources.join(", "),
    data: data.digest,
    ...{ training, verdict },
    seconds: seconds(),
    ...(writesIndex && { timed: " before the index" }),
    options: cardEntries(ADAPT_OPTIONS, { ...options }),
  });
  const indexed = writesIndex ? yield* indexAdapted(run, corpus) : {};
  const complete = { plan, training, ...indexed, verdict, seconds: seconds() };
  await writeRecord(options, complete);
  if (!options.keepCheckpoint) await removeCheckpoint(run.folder);
  return complete;
}

/** What is known before anything is written. */
async function prepare(given: StartOptions, requested: RequestedSources, corpus: Corpus) {
  const passages = readPassages(given, corpus);
  const sources = await chooseSources(requested, passages, given);
  const inputs = await readInputs(given, sources, passages, corpus);
  const start = await readStartingModel(given.model);
  const examples = availableExamples(inputs, given);
  const chosen = withAdaptDefaults(given, examples, corpus.size, start.config);
  const found = await findRun(chosen.out, chosen.resume); // before any of its files is touched
  const { measuredPassages } = found?.plan ?? {};
  const limit = typeof measuredPassages === "number" ? measuredPassages : undefined;
  const decided = resolveAdaptation(chosen, start, corpus, sources, limit);
  const ofDocuments = sources.labelFree.flatMap((source) => source.samples);
  const work = {
    passages: corpus.size,
    writesIndex: decided.writesIndex,
    measured: measuredWith(inputs, decided, corpus.size),
    asked: heldOutQuestions(inputs, decided),
    samples: [...ofDocuments, ...(await fileSamples(corpus, inputs))],
  };
  const estimate = await estimateRun(decided, work, corpus);
  const run = withSteps(decided, given.steps, estimate);
  if (found) checkDecisions(run.out, found, decisionsOf(run));
  const plan = planRun(run, work, plannedExamples(inputs, run), estimate);
  const { config, model } = run;
  const countTokens = async () =>
    countTokenWeights(
      corpus,
      await loadTokenizer(tokenizerFile(model), config),
      config,
      run.batch.maxPassageTokens,
    );
  const options = { ...chosen, steps: run.schedule.steps };
  const isBased = start.hasWeights;
  return { options, run, inputs, plan, work, estimate, found, isBased, countTokens };
}

/**
 * Indexes the corpus, with the passage limit of `reatt index`. A resumed run completes a partial
 * index and keeps a complete one.
 */
async function* indexAdapted(
  { out, folder, device: { provider }, resume, signal }: Adaptation,
  corpus: Corpus,
): AsyncGenerator<ProgressEvent, Pick<AdaptationResult, "index" | "cut">> {
  const directory = join(folder, "index");
  await using model = await ReAtt.load(out, { provider });
  if (resume && (await hasIndex(model, directory))) return { index: directory };
  yield { type: "stage", name: "indexing the corpus", total: corpus.size };
  let cut: CutText | undefined;
  let isCompressing = false;
  const index = yield* reporting<ProgressEvent, AsyncDisposable>((report) =>
    model.index(corpus.passages(), {
      directory,
      replace: true,
      maxPassageTokens: INDEX_PASSAGE_TOKENS,
      signal,
      onProgress: ({ event, passages, cut: found }) => {
        cut = found ?? cut;
        if (event === "compressed" && !isCompressing) {
          isCompressing = true;
          report({ type: "stage", name: "compressing the index", total: corpus.size });
        }
        report({ type: "progress", done: passages });
      },
    }),
  );
  await index[Symbol.asyncDispose]();
  return { index: directory, cut };
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
