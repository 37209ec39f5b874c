/** A training run, from files to a model folder. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { hasWeights } from "../checkpoints/open.ts";
import { InputError } from "../io/errors.ts";
import { reporting } from "../io/progress.ts";
import { type ModelConfig, readConfig } from "../model/config.ts";
import { loadTokenizer, type Tokenizer } from "../text/tokenizer.ts";
import { type CorpusSurvey, surveyCorpus } from "./data/corpus.ts";
import { questionTask } from "./data/question-task.ts";
import type { TrainingTask } from "./data/task.ts";
import { readQuestionsAbout } from "./data/training-questions.ts";
import type { TrainingEngine } from "./engine/engine.ts";
import { openEngine } from "./engine/open-engine.ts";
import type { ParameterState } from "./engine/optimizer.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "./loss/trained-parameters.ts";
import { type ResolvedOptions, type TrainOptions, withDefaults } from "./options/train-options.ts";
import {
  type BackgroundRefresh,
  type FoundExamples,
  openBackgroundRefresh,
} from "./run/background-refresh.ts";
import {
  type Checkpoint,
  checkPlan,
  findRun,
  restoreCheckpoint,
  writeCheckpoint,
} from "./run/checkpoint.ts";
import { modelSearch, withCurrentModel } from "./run/current-model.ts";
import { type DevSet, openDevSet } from "./run/dev.ts";
import { divergedLoss, divergedParameter } from "./run/divergence.ts";
import { evaluateOnDev } from "./run/evaluate.ts";
import type { TrainingEvent, TrainingResult } from "./run/events.ts";
import {
  bestOf,
  hasCollapsed,
  type MonitorRecord,
  measureRetrieval,
  measuresOf,
  outcomeOf,
  readMonitorRecords,
  writeMonitorRecords,
} from "./run/retrieval-monitor.ts";
import { atLeastAsGood, bestEvaluation, openRunLog, type RunLog } from "./run/run-log.ts";
import { planOf } from "./run/run-plan.ts";
import { saveModel } from "./run/save-model.ts";
import { learningRateAt } from "./run/schedule.ts";
import { selectHead } from "./run/select-head.ts";
import { iterationStage, type Stage, unsupervisedStage } from "./run/stages.ts";
import { startingParameters } from "./run/starting-parameters.ts";

/** Seconds between checkpoints: what a crash costs at most. */
const CHECKPOINT_SECONDS = 300;

/**
 * Trains a model from questions and answers (ReAtt, section 3), and writes it to `options.out` with a log and a report.
 *
 * Stopped by `signal` it saves a checkpoint and returns; killed, it has the one before. With `resume` it goes on from
 * there, and on the cpu provider ends with the same parameters, bit for bit, as without the stop.
 *
 * @throws {InputError} for files and options that can't be used, and for a loss that is not a finite number.
 */
export async function* train(given: TrainOptions): AsyncGenerator<TrainingEvent, TrainingResult> {
  const options = withDefaults(given);
  yield { type: "stage", name: "reading the corpus" };
  const corpus = await surveyCorpus(options.corpus, options.signal);
  const questions = await readQuestionsAbout(corpus, options.data, options.signal);
  const config = await readConfig(options.model);
  const retrievalHead = options.selectHead
    ? yield* selectHead(options, config, corpus, questions)
    : config.retrievalHead;
  const task = questionTask(options, corpus, questions);
  const result = yield* runTraining(options, { ...config, retrievalHead }, task, corpus);
  const { failure, checkpoint } = result;
  if (failure === undefined) return result;
  const kept =
    checkpoint === undefined
      ? "there is no checkpoint yet"
      : `the checkpoint of step ${checkpoint} is in ${join(options.out, "checkpoint")}`;
  throw new InputError({
    where: "training",
    expected: "a finite loss and gradient",
    got: failure,
    remedy: `begin anew with a lower learning rate; ${kept}`,
  });
}

/** What a run works with. */
interface Run {
  readonly options: ResolvedOptions;
  readonly config: ModelConfig;
  readonly tokenizer: Tokenizer;
  readonly corpus: CorpusSurvey;
  readonly task: TrainingTask;
  readonly plan: Checkpoint["plan"];
  readonly engine: TrainingEngine;
  readonly log: RunLog;
  readonly dev: DevSet | undefined;
  /** Steps done, of all stages. */
  step: number;
  /** The step of the last checkpoint. */
  saved: number | undefined;
  /** What the task's monitor said up to now. */
  readonly monitorRecords: MonitorRecord[];
  /** What is read with the questions; none before the first iteration. */
  found: FoundExamples | undefined;
  /** What ended the run, where that was a loss or a weight. */
  diverged: string | undefined;
}

/**
 * Trains on what `task` gives, iteration by iteration; a model without weights first on the texts of the corpus. Ends early where
 * the task's monitor says that retrieval fell away, or a loss is not finite, with the best model that was measured.
 */
export async function* runTraining(
  given: ResolvedOptions,
  config: ModelConfig,
  task: TrainingTask,
  corpus: CorpusSurvey,
): AsyncGenerator<TrainingEvent, TrainingResult> {
  const tokenizer = await loadTokenizer(join(given.model, "spiece.model"), config.vocabularySize);
  const scratch = !(await hasWeights(given.model));
  if (scratch)
    yield { type: "stage", name: `${given.model} has no weights: beginning with random ones` };
  const options = scratch ? given : { ...given, unsupervisedSteps: 0 };
  const parameters = await startingParameters(options, config);
  const plan = planOf(options, config, parameters, task.digest, corpus.digest);
  const checkpoint = await resume(options, plan, parameters);
  await mkdir(options.out, { recursive: true });
  const dev = await openDevSet(options, corpus);
  await using engine = yield* openEngine(options, config, parameters);
  await using log = await openRunLog(options, checkpoint, dev?.baseline);
  const { step = 0 } = checkpoint ?? {};
  const run: Run = {
    ...{ options, config, tokenizer, corpus, task, plan, engine, log, dev },
    ...{ step, saved: checkpoint?.step },
    monitorRecords: checkpoint && task.monitor ? await readMonitorRecords(options.out, step) : [],
    found: undefined,
    diverged: undefined,
  };
  await using refresh =
    options.refresh === "background" ? await openRefresh(run, checkpoint !== undefined) : undefined;

  yield* evaluate(run);
  if (!checkpoint) yield* monitorRetrieval(run);
  while (run.step < stepsOf(options) && !isStopped(run) && !failureOf(run)) {
    yield* trainStage(run, yield* nextStage(run), refresh);
    if (run.diverged !== undefined) break; // the last checkpoint is of a model that worked
    yield await save(run);
    if (!isStopped(run) && !failureOf(run)) yield* evaluate(run);
  }
  if (run.step === stepsOf(options) && !isStopped(run)) yield* monitorRetrieval(run);
  return await finalise(run);
}

/** Steps of all stages. */
const stepsOf = ({ unsupervisedSteps, iterations, steps }: ResolvedOptions): number =>
  unsupervisedSteps + iterations * steps;

const isStopped = ({ options }: Run): boolean => options.signal?.aborted === true;

const failureOf = ({ diverged, monitorRecords }: Run): string | undefined =>
  diverged ?? (hasCollapsed(monitorRecords) ? "retrieval fell away" : undefined);

/** Its snapshots are checkpoints too: whenever the run stops, it goes on from the last one or later, and remembers it. */
function openRefresh(run: Run, resumed: boolean): Promise<BackgroundRefresh> {
  const { options, config, corpus, task, engine } = run;
  const saveSnapshot = async (folder: string): Promise<void> => {
    await save(run);
    await saveModel(folder, config, await engine.parameters(), options.model);
  };
  return openBackgroundRefresh(options, corpus, task, saveSnapshot, resumed);
}

/** The stage that the next step belongs to, with what is read in it; in the background, that is decided step by step. */
async function* nextStage(run: Run): AsyncGenerator<TrainingEvent, Stage> {
  const { options, tokenizer, corpus, step } = run;
  if (step < options.unsupervisedSteps) return yield* unsupervisedStage(options, corpus, tokenizer);
  const iteration = Math.floor((step - options.unsupervisedSteps) / options.steps);
  if (options.refresh !== "background") run.found = yield* findExamples(run, iteration);
  return iterationStage(options, iteration, () => run.found!.source, tokenizer);
}

/** After the first iteration on passages found with the model as it is now, if that is asked for. */
async function* findExamples(
  run: Run,
  iteration: number,
): AsyncGenerator<TrainingEvent, FoundExamples> {
  const { options, config, engine, corpus, task } = run;
  if (iteration === 0 || options.refresh === "none")
    return { source: yield* task.prepare(iteration, undefined), snapshot: undefined };
  const source = yield* withCurrentModel(
    options,
    config,
    await engine.parameters(),
    corpus,
    (model, index) => task.prepare(iteration, modelSearch(model, index)),
  );
  return { source, snapshot: options.unsupervisedSteps + iteration * options.steps };
}

/** Steps to the end of the stage, or until the run is stopped. */
async function* trainStage(
  run: Run,
  stage: Stage,
  refresh: BackgroundRefresh | undefined,
): AsyncGenerator<TrainingEvent> {
  const { options, engine, log } = run;
  let saved = performance.now();
  while (run.step < stage.first + stage.steps && !isStopped(run)) {
    if (refresh && run.step >= options.unsupervisedSteps)
      run.found = yield* refresh.examples(run.step);
    const start = performance.now();
    const step = run.step - stage.first;
    const learningRate = learningRateAt(step + 1, stage.steps, options.learningRate);
    const losses = await engine.step({
      ...{ examples: stage.examples(step), objective: stage.objective(step), learningRate },
      ...{ step: run.step + 1, key: stage.seed },
    });
    run.diverged = divergedLoss(losses, run.step + 1);
    if (run.diverged !== undefined) return;
    run.step++;
    const questionsPerSecond = (1000 * options.questions) / (performance.now() - start);
    await log.step({
      ...{ step: run.step, losses, learningRate, questionsPerSecond, staleness: stalenessOf(run) },
      ...learnedScalars(await engine.learnedScalars(), options),
    });
    const progress = { step: run.step, steps: stepsOf(options), questionsPerSecond };
    yield { type: "step", ...progress, losses, learningRate };
    const measured = run.step % (run.task.monitor?.every ?? Infinity) === 0;
    if (measured) yield* monitorRetrieval(run);
    if (run.diverged !== undefined) return;
    if (!measured && performance.now() - saved < CHECKPOINT_SECONDS * 1000) continue;
    yield await save(run);
    saved = performance.now();
    if (failureOf(run)) return;
  }
}

/** Of the close passages of the step just done: steps between the model that found them and the one that read them. */
const stalenessOf = ({ found, step }: Run): number | undefined =>
  found?.snapshot === undefined ? undefined : step - 1 - found.snapshot;

/** Measures retrieval with the task's monitor, unless that is done, and keeps the model if it is the best. */
async function* monitorRetrieval(run: Run): AsyncGenerator<TrainingEvent> {
  const { options, config, task, step, monitorRecords, log } = run;
  if (!task.monitor || monitorRecords.at(-1)?.step === step) return;
  const parameters = await usableParameters(run);
  if (!parameters) return;
  const reciprocalRanks = yield* measureRetrieval(options, config, parameters, task.monitor);
  const record = { step, reciprocalRanks };
  monitorRecords.push(record);
  const best = bestOf(monitorRecords) === record;
  if (best) await saveModel(options.out, config, parameters, options.model);
  await writeMonitorRecords(options.out, monitorRecords);
  const measures = measuresOf(record);
  await log.evaluation(step, { measures, replies: [] }, [], bestOf(monitorRecords).step);
  yield { type: "evaluation", step, measures, best };
}

/** Measures the model on dev before and after each iteration, unless that is done, and keeps it if it is the best. */
async function* evaluate(run: Run): AsyncGenerator<TrainingEvent> {
  const { options, config, corpus, dev, log, step } = run;
  const { unsupervisedSteps: start, steps } = options;
  const between = step >= start && (step - start) % steps === 0;
  const due = between && !log.evaluations().some((known) => known.step === step);
  if (!dev || !due) return;
  const parameters = await usableParameters(run);
  if (!parameters) return;
  const { questions } = dev;
  const result = yield* withCurrentModel(
    options,
    config,
    parameters,
    corpus,
    async function* (model, index) {
      yield { type: "stage", name: "answering dev questions", total: questions.length };
      return yield* reporting((report) =>
        evaluateOnDev(model, index, questions, {
          signal: options.signal,
          onProgress: (done) => report({ type: "progress", done }),
        }),
      );
    },
  );
  const before = bestEvaluation(log.evaluations(), start);
  const best = step > start && (!before || atLeastAsGood(result.measures, before.measures));
  if (best) await saveModel(options.out, config, parameters, options.model);
  await log.evaluation(step, result, questions, best ? step : before?.step);
  yield { type: "evaluation", step, measures: result.measures, best };
}

/** The parameters to measure; undefined where they have become too large for that, which ends the run. */
async function usableParameters(
  run: Run,
): Promise<ReadonlyMap<string, ParameterState> | undefined> {
  const parameters = await run.engine.parameters();
  run.diverged = divergedParameter(parameters, run.step);
  return run.diverged === undefined ? parameters : undefined;
}

async function save(run: Run): Promise<TrainingEvent> {
  const { options, plan, step, log, engine } = run;
  await log.sync();
  const directory = join(options.out, "checkpoint");
  const progress = { plan, step, seconds: log.seconds() };
  await writeCheckpoint(directory, progress, await engine.parameters());
  run.saved = step;
  return { type: "checkpoint", step, directory };
}

/** What became of the run, as far as it went. */
async function finalise(run: Run): Promise<TrainingResult> {
  const { options, config, engine, task, dev, step, monitorRecords, log } = run;
  const failure = failureOf(run);
  const complete = !failure && step === stepsOf(options);
  if (complete && !dev && !task.monitor)
    await saveModel(options.out, config, await engine.parameters(), options.model);
  const reason = failure ? `: ${failure}` : "";
  const report = await log.report(
    `${complete ? "Finished" : "Stopped"} after step ${step}${reason}.`,
  );
  const evaluations = log.evaluations();
  const { unsupervisedSteps: start } = options;
  return {
    ...{ folder: options.out, report, step, finished: complete || failure !== undefined, failure },
    checkpoint: run.saved,
    before: evaluations.find((evaluation) => evaluation.step === start)?.measures,
    after: bestEvaluation(evaluations, start)?.measures,
    monitor: monitorRecords.length > 0 ? outcomeOf(monitorRecords) : undefined,
  };
}

/** The checkpoint to go on from, its numbers put into `parameters`. */
async function resume(
  options: ResolvedOptions,
  plan: Checkpoint["plan"],
  parameters: ReadonlyMap<string, ParameterState>,
): Promise<Checkpoint | undefined> {
  const directory = join(options.out, "checkpoint");
  const checkpoint = await findRun(options.out, options.resume);
  if (!checkpoint) return undefined;
  checkPlan(options.out, checkpoint, plan);
  await restoreCheckpoint(directory, checkpoint, parameters);
  return checkpoint;
}

/** What the objective learnedScalars: exp(s), and the shares of the heads where they are mixed. */
function learnedScalars(
  own: ReadonlyMap<string, ParameterState>,
  { tau }: ResolvedOptions,
): { scale: number; headWeights: number[] | undefined } {
  const scale = Math.exp(own.get(LOG_SCALE)!.value[0]!);
  const weights = own.get(HEAD_WEIGHTS)?.value;
  if (!weights || tau === undefined) return { scale, headWeights: undefined };
  const highest = Math.max(...weights);
  const shares = Array.from(weights, (weight) => Math.exp((weight - highest) / tau));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return { scale, headWeights: shares.map((share) => share / total) };
}
