/** Trains a model from questions and answers. Source: ReAtt (Jiang et al. 2022), section 3. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createOutputDirectory } from "../io/create-directory.ts";
import { InputError } from "../io/errors.ts";
import { cardEntries } from "../options/records.ts";
import { type Corpus, openCorpus } from "./examples/corpus.ts";
import { readTrainingFile } from "./examples/training-questions.ts";
import { candidatesFile } from "./examples/with-candidates.ts";
import { withModelFolder } from "./options/model-folder.ts";
import {
  checkMeasured,
  TRAIN_OPTIONS,
  type TrainOptions,
  type TrainRequest,
  withDefaults,
} from "./options/train-options.ts";
import { type PlannedMeasurement, sampledMeasurement } from "./plan/pace.ts";
import {
  budgetOf,
  estimateRun,
  type PlanEvent,
  planRun,
  type RunWork,
  type TrainingPlan,
  withSteps,
} from "./plan/plan.ts";
import { SAMPLES, sampleOf } from "./plan/samples.ts";
import {
  filesText,
  heldOutOf,
  plannedQuestions,
  type Questions,
  questionData,
  readFiles,
  trainedOn,
} from "./question-data.ts";
import { writeModelCard } from "./run/card.ts";
import { checkDecisions, findRun, lengthened, type RunCheckpoint } from "./run/checkpoint.ts";
import type { RunEvent, TrainingResult } from "./run/events.ts";
import { readStartingModel } from "./run/parameters.ts";
import { decisionsOf, type Run, resolveRun } from "./run/run.ts";
import { checkFree, runFolder } from "./run/run-folder.ts";
import { type RunKind, readRunRecord, withRecord, writeRunRecord } from "./run/run-record.ts";
import { runTraining } from "./run/run-training.ts";
import { verdictOf } from "./verdict/verdict.ts";

/** What `train` yields while it runs: the plan before anything is written. */
export type TrainingEvent = RunEvent | PlanEvent;

/**
 * Trains a model from questions and answers with the loss of ReAtt,
 *
 *     L = L_QA + alpha KL(P_tgt || P_ret)     (Eq. 3)
 *
 * and writes it to `options.out`, with a model card. The log, the report and the checkpoints are in
 * `options.out.run`.
 *
 * It first yields a plan with estimates of time, memory and disk space. With `dryRun` it returns
 * then, and writes nothing. With `minutes`, it ends after that time. If `signal` aborts, the run
 * saves a checkpoint and returns. After a crash there is the last periodic checkpoint.
 * `{ out, resume: true }` continues a run; with more `iterations`, or in one iteration more
 * `steps`, for longer. On the provider "cpu" a resumed run ends with the same parameters, bit for
 * bit, as a run that was not stopped.
 *
 * Source: ReAtt (Jiang et al. 2022), section 3.
 *
 * It measures on `dev`, or else on some questions of `data` that it does not train on, and keeps
 * the best model, which can be the given one. If nothing is measured (`holdOut: false`, a model
 * without weights, fewer than four questions), it keeps the last one. A run on held-out questions
 * ends early if retrieval is clearly below its best in three measurements in a row.
 *
 * @returns the plan, where the model and the report are, and what the run brought
 * @throws {InputError} if a file or an option cannot be used, and if a loss is not finite.
 *
 * @example
 * ```ts no-run
 * import { train } from "reatt/training";
 *
 * const run = train({
 *   model: "models/reatt-mini",
 *   corpus: "data/squad/corpus.jsonl",
 *   data: "questions.jsonl",
 *   out: "runs/squad",
 *   steps: 100,
 * });
 * for (let next = await run.next(); ; next = await run.next()) {
 *   if (next.done) {
 *     console.log(`the model is in ${next.value.folder}`);
 *     break;
 *   }
 *   if (next.value.type === "step") console.log(next.value.step, next.value.losses.loss);
 * }
 * ```
 */
export async function* train(given: TrainOptions): AsyncGenerator<TrainingEvent, TrainResult> {
  const result = yield* trial(given);
  if (result.diverged !== undefined) throw divergedError(result);
  return result;
}

/** The same, but a run whose loss is not finite returns. */
export async function* trial(given: TrainOptions): AsyncGenerator<TrainingEvent, TrainResult> {
  const started = performance.now();
  const located = yield* withModelFolder(await withRecorded(given));
  const options = withDefaults(located);
  if (!options.dryRun) await checkFree(options.out);
  yield { type: "stage", name: "reading the corpus" };
  await using corpus = await openCorpus(options.corpus, { signal: options.signal });
  const prepared = await prepare(located, options, corpus);
  const { run, questions, plan, work, estimate, found, isBased } = prepared;
  if (!isBased)
    yield { type: "stage", name: `${options.model} has no weights: beginning with random ones` };
  for (const what of prepared.leftOut) yield { type: "stage", name: `left out: ${what}` };
  yield { type: "plan", plan };
  if (options.dryRun) return { plan, ...nothingDone(run) };
  const complete = { ...options, steps: run.schedule.steps };
  await begin(run, complete, questions, found);
  const data = yield* questionData(run, corpus, questions);
  const before = found?.seconds ?? 0;
  const budget = budgetOf(run, started - 1000 * before, work, estimate);
  const result = yield* runTraining(run, data, corpus, budget);
  if (!result.finished || result.diverged !== undefined) return { plan, ...result };
  const verdict = result.outcome ? verdictOf(result) : notMeasured(plan);
  const seconds = before + (performance.now() - started) / 1000;
  await writeModelCard(run, {
    isBased,
    description: `A ReAtt model trained on questions and answers of ${filesText(questions)}.`,
    corpus: { file: options.corpus, passages: corpus.size, digest: corpus.digest },
    trainedOn: trainedOn(questions, data.counts),
    data: data.digest,
    training: result,
    ...{ verdict, seconds },
    options: cardEntries(TRAIN_OPTIONS, { ...complete, data: filesText(questions) }),
  });
  return { plan, ...result, verdict, seconds };
}

/**
 * What is known before anything is written.
 *
 * @param given with the steps of the record, if there are any
 */
async function prepare(given: TrainOptions, options: TrainRequest, corpus: Corpus) {
  const start = await readStartingModel(options.model);
  const decided = resolveRun(options, start, corpus);
  const leftOut: string[] = [];
  const tell = (what: string) => leftOut.push(what);
  const questions = await readFiles(options, start, corpus, tell);
  const found = options.dryRun ? undefined : await findRun(decided.out, decided.resume);
  const work = await workOf(decided, corpus, questions);
  checkMeasured(options, work.unmeasured);
  const estimate = await estimateRun(decided, work, corpus);
  const run = withSteps(decided, given.steps, estimate);
  const sources = plannedQuestions(questions, run);
  const plan = planRun(run, work, { sources, made: 0 }, estimate);
  const isBased = start.hasWeights;
  return { run, questions, leftOut, plan, work, estimate, found, isBased };
}

/**
 * Records the options of a new run, and of one that is made longer. More steps can draw more
 * questions, so their candidates are found again.
 */
async function begin(
  run: Run,
  options: TrainRequest,
  { files }: Questions,
  found: RunCheckpoint | undefined,
): Promise<void> {
  await createOutputDirectory(run.folder);
  const decisions = decisionsOf(run);
  const longer = found && lengthened(found, decisions);
  if (longer) checkDecisions(run.out, longer, decisions);
  if (found && longer === found) return;
  if (longer)
    for (const { source } of files)
      await rm(join(run.folder, candidatesFile(source, 0)), { force: true });
  await writeRunRecord(TRAINING, options);
}

const notMeasured = ({ unmeasured }: TrainingPlan): string =>
  `no verdict: ${unmeasured ?? "the passages of the held-out questions are unknown"}, so the last ` +
  "model is kept, even if it is worse than the given one; compare both with reatt benchmark";

/** What `train` returns. After a dry run no step is done, and no file is written. */
export interface TrainResult extends TrainingResult {
  /** What the run decided before it began. */
  readonly plan: TrainingPlan;
  /** What the run brought, in a line. Undefined while it is not complete. */
  readonly verdict?: string | undefined;
  /** What everything took. The plan has the estimate. Undefined while the run is not complete. */
  readonly seconds?: number | undefined;
}

const nothingDone = ({ out, folder }: Run): TrainingResult => ({
  folder: out,
  report: join(folder, "report.html"),
  step: 0,
  finished: false,
  samples: [],
});

async function workOf(run: Run, { size }: Corpus, questions: Questions): Promise<RunWork> {
  const measured =
    (await devMeasurement(run, size)) ??
    sampledMeasurement("held-out examples", heldOutOf(questions, run), size);
  return {
    ...{ passages: size, writesIndex: false, asked: measured?.questions ?? 0, measured },
    unmeasured: measured ? undefined : questions.whole,
    samples: questions.files.flatMap(({ source, examples }) =>
      examples.slice(0, SAMPLES).map((one) => sampleOf(source.name, one)),
    ),
  };
}

/** The questions of `dev` are searched in the whole corpus, and all are answered. */
async function devMeasurement(
  { measurements: { dev, devQuestions }, signal }: Run,
  passages: number,
): Promise<PlannedMeasurement | undefined> {
  if (dev === undefined) return undefined;
  const { length } = await readTrainingFile(dev, signal);
  const count = Math.min(length, devQuestions);
  return { what: "dev questions", questions: count, passages, answered: count };
}

const TRAINING: RunKind = { name: "training", options: TRAIN_OPTIONS };

/** With the options of the run, if it is resumed. Those that are given are not checked yet. */
async function withRecorded(given: TrainOptions): Promise<TrainOptions> {
  if (typeof given?.out !== "string" || given.resume !== true) return given;
  const record = await readRunRecord(TRAINING, given.out);
  return record ? withRecord(given, record) : given;
}

/** @param result of a run whose loss is not finite */
export function divergedError({ diverged, folder, checkpoint }: TrainingResult): InputError {
  const saved =
    checkpoint === undefined
      ? "there is no checkpoint yet"
      : `the checkpoint of step ${checkpoint} is in ${join(runFolder(folder), "checkpoint")}`;
  return new InputError({
    where: "training",
    expected: "a finite loss and gradient",
    got: diverged!,
    remedy: `begin again with a lower learning rate; ${saved}`,
  });
}
