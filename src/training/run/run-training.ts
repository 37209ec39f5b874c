/** The training loop: from a model, a corpus and training data to a model folder. */

import { join } from "node:path";
import { hasWeights } from "../../checkpoints/open.ts";
import { modelTitle } from "../../hub/model-title.ts";
import { createOutputDirectory } from "../../io/create-directory.ts";
import type { ModelConfig } from "../../model/config.ts";
import { loadTokenizer } from "../../text/tokenizer.ts";
import { openEngine } from "../engine/open-engine.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { TextExamples } from "../examples/step.ts";
import type { TrainingData } from "../examples/training-data.ts";
import { openPreBatchQueue, type PreBatchQueue } from "../gradient-cache/pre-batch.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../loss/trained-parameters.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import {
  type BackgroundRefresh,
  openBackgroundRefresh,
  type SnapshotExamples,
} from "./background-refresh.ts";
import { fitToTime, reduceAfterFall, timeStep } from "./change-schedule.ts";
import {
  checkPlan,
  findRun,
  type RunCheckpoint,
  type RunPlan,
  restoreCheckpoint,
  writeCheckpoint,
} from "./checkpoint.ts";
import { modelCandidates, withCurrentModel } from "./current-model.ts";
import { withDecoderScores } from "./decoder-teacher.ts";
import { type DevSet, openDevSet } from "./dev.ts";
import { divergedLoss } from "./divergence.ts";
import type { TrainingEvent, TrainingResult } from "./events.ts";
import { evaluate, monitorRetrieval } from "./measure.ts";
import {
  openMonitor,
  outcomeOf,
  type RetrievalMonitor,
  readMonitorRecords,
} from "./retrieval-monitor.ts";
import { bestEvaluation, openRunLog, type RunDescription } from "./run-log.ts";
import { planOf } from "./run-plan.ts";
import { saveModel } from "./save-model.ts";
import { lastRestart, learningRateAt } from "./schedule.ts";
import { iterationStage, type Stage, unsupervisedStage } from "./stages.ts";
import { startingParameters } from "./starting-parameters.ts";
import type { TimeBudget } from "./time-budget.ts";
import {
  failureOf,
  isStopped,
  lastStep,
  monitorSteps,
  stalenessOf,
  type TrainingRun,
} from "./training-run.ts";
import { tryTokenWeights } from "./try-token-weights.ts";

/** Seconds between checkpoints: the most that a crash loses. */
const CHECKPOINT_SECONDS = 300;

/**
 * Trains a model on `data`, iteration by iteration. A model without weights first trains on the
 * texts of the corpus. If retrieval falls again and again, or a loss is not finite, the run ends
 * early with the best measured model.
 *
 * @param budget ends the run in time. It needs a monitor and one iteration.
 */
export async function* runTraining(
  given: ResolvedOptions,
  config: ModelConfig,
  data: TrainingData,
  corpus: Corpus,
  budget?: TimeBudget,
): AsyncGenerator<TrainingEvent, TrainingResult> {
  const tokenizer = await loadTokenizer(join(given.model, "spiece.model"), config.vocabularySize);
  const isNew = !(await hasWeights(given.model));
  if (isNew)
    yield { type: "stage", name: `${given.model} has no weights: beginning with random ones` };
  // Span corruption trains the reader, which the objective retrieval leaves as it is.
  const isCorrupted = isNew && given.objective !== "retrieval";
  const options = isCorrupted ? given : { ...given, unsupervisedSteps: 0 };
  const parameters = await startingParameters(options, config);
  const plan = planOf(options, config, parameters, data.digest, corpus.digest);
  const queue = options.preBatch > 0 ? openPreBatchQueue(options.preBatch) : undefined;
  const checkpoint = await resume(options, plan, parameters, queue);
  await createOutputDirectory(options.out);
  const dev = await openDevSet(options, corpus);
  const monitor = data.monitorSet && (await openMonitor(data.monitorSet, corpus, options.signal));
  await using engine = yield* openEngine(options, config, parameters, queue);
  const description = describeRun(options, data, dev, monitor);
  await using log = await openRunLog(options, checkpoint, description);
  const step = checkpoint?.step ?? 0;
  const isMonitored = checkpoint !== undefined && monitor !== undefined;
  const run: TrainingRun = {
    ...{ options, config, tokenizer, corpus, data, plan, engine, queue, log },
    ...{ dev, monitor, step },
    savedStep: checkpoint?.step,
    monitorRecords: isMonitored ? await readMonitorRecords(options.out, step) : [],
    changes: [...(checkpoint?.schedule ?? [])],
    ...{ budget, durations: undefined, stepSeconds: [], resumedAt: step },
    examples: undefined,
    diverged: undefined,
  };
  await using refresh = await openRefresh(run);

  yield* evaluate(run);
  if (!checkpoint) {
    yield* monitorRetrieval(run);
    yield* tryTokenWeights(run);
  }
  fitToTime(run, false); // perhaps no time is left to train
  yield* trainStages(run, refresh);
  if (run.step === lastStep(run) && !isStopped(run)) yield* monitorRetrieval(run);
  return await finalise(run);
}

/** How the report names the run, and the questions that choose its model. */
function describeRun(
  { model, data: file }: ResolvedOptions & { readonly data?: string | undefined },
  data: TrainingData,
  dev: DevSet | undefined,
  monitor: RetrievalMonitor | undefined,
): RunDescription {
  const kind =
    data.kind ?? `Training of ${modelTitle(model)}${file === undefined ? "" : ` on ${file}`}`;
  const { baseline } = dev ?? monitor ?? {};
  const questions = (dev ?? monitor)?.questions.length;
  if (questions === undefined) return { kind };
  const selection = dev
    ? { questions, what: "dev questions", measure: "exact match; ties by R@1, then F1" }
    : { questions, what: "held-out examples", measure: "mean reciprocal rank (MRR)" };
  return { kind, baseline, selection };
}

/** Finds the checkpoint to resume from, and copies its state into `parameters` and `queue`. */
async function resume(
  options: ResolvedOptions,
  plan: RunPlan,
  parameters: ReadonlyMap<string, ParameterState>,
  queue: PreBatchQueue | undefined,
): Promise<RunCheckpoint | undefined> {
  const directory = join(options.out, "checkpoint");
  const checkpoint = await findRun(options.out, options.resume);
  if (!checkpoint) return undefined;
  checkPlan(options.out, checkpoint, plan);
  await restoreCheckpoint(directory, checkpoint, parameters, queue);
  return checkpoint;
}

/** A snapshot is also a checkpoint: a resumed run never starts before its last snapshot. */
async function openRefresh(run: TrainingRun): Promise<BackgroundRefresh | undefined> {
  const { options, config, corpus, data, engine } = run;
  if (options.refresh !== "background") return undefined;
  return openBackgroundRefresh(options, corpus, data, {
    resumed: run.savedStep !== undefined,
    saveSnapshot: async (folder) => {
      await save(run);
      await saveModel(folder, config, await engine.parameters(), options.model);
    },
  });
}

async function* trainStages(
  run: TrainingRun,
  refresh: BackgroundRefresh | undefined,
): AsyncGenerator<TrainingEvent> {
  while (run.step < lastStep(run) && !isStopped(run) && !failureOf(run)) {
    yield* trainStage(run, yield* nextStage(run), refresh);
    if (run.diverged !== undefined) return; // the last checkpoint is of a model that worked
    yield await save(run);
    if (!isStopped(run) && !failureOf(run)) yield* evaluate(run);
  }
}

/** The stage of the next step. With a background refresh, every step decides on its examples. */
async function* nextStage(run: TrainingRun): AsyncGenerator<TrainingEvent, Stage> {
  const { options, tokenizer, corpus, step } = run;
  if (step < options.unsupervisedSteps) return yield* unsupervisedStage(options, corpus, tokenizer);
  const iteration = Math.min(
    options.iterations - 1, // with a time budget, the last one can have more steps
    Math.floor((step - options.unsupervisedSteps) / options.steps),
  );
  if (options.refresh !== "background") run.examples = yield* findExamples(run, iteration);
  return iterationStage(options, iteration, () => run.examples!.source, tokenizer);
}

/**
 * After the first iteration, the current model finds the candidates, unless `refresh` is "none".
 */
async function* findExamples(
  { options, config, tokenizer, engine, corpus, data }: TrainingRun,
  iteration: number,
): AsyncGenerator<TrainingEvent, SnapshotExamples> {
  async function* taught(source: TextExamples): AsyncGenerator<TrainingEvent, TextExamples> {
    if (options.teacher === undefined) return source;
    const model = { config, tokenizer, parameters: await engine.parameters() };
    return yield* withDecoderScores(source, iteration, options, model);
  }
  if (iteration === 0 || options.refresh === "none") {
    const source = yield* taught(yield* data.examples(iteration, undefined));
    return { source, snapshot: undefined };
  }
  const source = yield* withCurrentModel(
    options,
    config,
    await engine.parameters(),
    corpus,
    (model, index) => data.examples(iteration, modelCandidates(model, index)),
  );
  const snapshot = options.unsupervisedSteps + iteration * options.steps;
  return { source: yield* taught(source), snapshot };
}

/** Trains to the end of the stage, or until the run is stopped or fails. */
async function* trainStage(
  run: TrainingRun,
  stage: Stage,
  refresh: BackgroundRefresh | undefined,
): AsyncGenerator<TrainingEvent> {
  const { options, budget } = run;
  let saved = performance.now();
  const last = (): number => (budget ? lastStep(run) : stage.first + stage.steps);
  while (run.step < last() && !isStopped(run)) {
    if (refresh && run.step >= options.unsupervisedSteps)
      run.examples = yield* refresh.examples(run.step);
    yield* trainStep(run, stage);
    if (run.diverged !== undefined) return;
    const isMeasured = run.step % monitorSteps(run) === 0;
    if (isMeasured) yield* monitorRetrieval(run);
    if (run.diverged !== undefined) return;
    if (isMeasured) yield* reduceAfterFall(run);
    fitToTime(run, isMeasured);
    if (!isMeasured && performance.now() - saved < CHECKPOINT_SECONDS * 1000) continue;
    yield await save(run);
    saved = performance.now();
    if (failureOf(run)) return;
  }
}

async function* trainStep(run: TrainingRun, stage: Stage): AsyncGenerator<TrainingEvent> {
  const { options, engine, log, changes } = run;
  const start = performance.now();
  const step = run.step - stage.first;
  const cycle = { first: stage.first, steps: stage.steps, peak: options.learningRate };
  const learningRate = learningRateAt(run.step + 1, cycle, changes);
  const restart = lastRestart(changes);
  const losses = await engine.step({
    ...{ examples: stage.examples(step), objective: stage.objective(step), learningRate },
    ...{ step: run.step + 1, updates: run.step + 1 - restart, key: stage.seed },
    // An earlier stage has other examples, and a restart has other weights.
    preBatch: Math.min(options.preBatch, step, run.step - restart),
  });
  timeStep(run, (performance.now() - start) / 1000);
  run.diverged = divergedLoss(losses, run.step + 1);
  if (run.diverged !== undefined) return;
  run.step++;
  const questionsPerSecond = (1000 * options.questions) / (performance.now() - start);
  await log.step({
    ...{ step: run.step, losses, learningRate, questionsPerSecond, staleness: stalenessOf(run) },
    ...scaleAndHeads(await engine.learnedScalars(), options),
  });
  const progress = { step: run.step, steps: lastStep(run), questionsPerSecond };
  yield { type: "step", ...progress, losses, learningRate };
}

/** The learned scalars as the log has them: exp(s), and the shares of the heads if mixed. */
function scaleAndHeads(
  learnedScalars: ReadonlyMap<string, ParameterState>,
  { tau }: ResolvedOptions,
): { scale: number; headWeights: number[] | undefined } {
  const scale = Math.exp(learnedScalars.get(LOG_SCALE)!.value[0]!);
  const weights = learnedScalars.get(HEAD_WEIGHTS)?.value;
  if (!weights || tau === undefined) return { scale, headWeights: undefined };
  const highest = Math.max(...weights);
  const shares = Array.from(weights, (weight) => Math.exp((weight - highest) / tau));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return { scale, headWeights: shares.map((share) => share / total) };
}

async function save(run: TrainingRun): Promise<TrainingEvent> {
  const { options, plan, step, log, engine, queue, changes } = run;
  await log.sync();
  const directory = join(options.out, "checkpoint");
  const schedule = changes.length > 0 ? changes : undefined;
  const progress = { plan, step, seconds: log.seconds(), schedule };
  await writeCheckpoint(directory, progress, await engine.parameters(), queue);
  run.savedStep = step;
  return { type: "checkpoint", step, directory };
}

/** Saves the model unless a measurement did, writes the report, and returns the result. */
async function finalise(run: TrainingRun): Promise<TrainingResult> {
  const { options, config, engine, dev, monitor, step, monitorRecords, log } = run;
  const failure = failureOf(run);
  const complete = !failure && step === lastStep(run);
  if (complete && !dev && !monitor)
    await saveModel(options.out, config, await engine.parameters(), options.model);
  const reason = failure ? `: ${failure}` : "";
  const status = `${complete ? "Finished" : "Stopped"} after step ${step}${reason}.`;
  const report = await log.report(status);
  const evaluations = log.evaluations();
  const { unsupervisedSteps: start } = options;
  return {
    ...{ folder: options.out, report, step, finished: complete || failure !== undefined, failure },
    checkpoint: run.savedStep,
    before: evaluations.find((evaluation) => evaluation.step === start)?.measures,
    after: bestEvaluation(evaluations, start)?.measures,
    samples: log.samples(),
    monitor:
      monitor && monitorRecords.length > 0
        ? outcomeOf(monitorRecords, monitor.baseline.measures, run.changes)
        : undefined,
  };
}
