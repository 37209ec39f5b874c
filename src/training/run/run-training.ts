/** The training loop: from a model, a corpus and training data to a model folder. */

import { join } from "node:path";
import { modelTitle } from "../../hub/model-title.ts";
import { createOutputDirectory } from "../../io/create-directory.ts";
import { loadTokenizer, tokenizerFile } from "../../text/tokens/tokenizer.ts";
import { openEngine } from "../engine/open-engine.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { TrainingData } from "../examples/training-data.ts";
import { openPreBatchQueue, type PreBatchQueue } from "../gradient-cache/pre-batch.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../objectives/trained-parameters.ts";
import { chosenOf, selectionOf } from "../verdict/decision.ts";
import { type MeasuredSet, openMeasuredSet } from "../verdict/measured-set.ts";
import { type MeasuredModel, readMeasured } from "../verdict/measurements.ts";
import { outcomeOf, verdictOf } from "../verdict/verdict.ts";
import {
  type BackgroundRefresh,
  openBackgroundRefresh,
  type SnapshotExamples,
} from "./background-refresh.ts";
import { calibrateKept } from "./calibrate-kept.ts";
import {
  checkPlan,
  findRun,
  lengthened,
  type RunCheckpoint,
  type RunPlan,
  removeOtherStates,
  restoreCheckpoint,
  writeCheckpoint,
} from "./checkpoint.ts";
import { modelCandidates, withCurrentModel } from "./current-model.ts";
import type { RunEvent, TrainingResult } from "./events.ts";
import { measure, tryTokenWeights } from "./measure.ts";
import {
  givenWeights,
  keptParameters,
  saveModel,
  saveStart,
  startingParameters,
} from "./parameters.ts";
import { changesReading, filesOfPlan, planOf, type Run } from "./run.ts";
import { openRunLog, type RunDescription } from "./run-log.ts";
import {
  divergedLoss,
  endIfStale,
  failureOf,
  isMonitorStep,
  isStopped,
  type RunState,
  stalenessOf,
} from "./run-state.ts";
import { lastStep, learningRateAt } from "./schedule.ts";
import { iterationStage, type Stage } from "./stages.ts";
import { canMeasure, fitToTime, type TimeBudget, timeStep } from "./time-budget.ts";
import { describeWritten, folderBytes } from "./written-model.ts";

/** Seconds between checkpoints: the most that a crash loses. */
const CHECKPOINT_SECONDS = 300;

/**
 * Trains a model on `data`, iteration by iteration. If retrieval stays below what it was, or a loss
 * is not finite, the run ends early with the best measured model.
 *
 * @param budget ends the run in time. It needs one iteration.
 */
export async function* runTraining(
  run: Run,
  data: TrainingData,
  corpus: Corpus,
  budget?: TimeBudget,
): AsyncGenerator<RunEvent, TrainingResult> {
  const { config, out } = run;
  const tokenizer = await loadTokenizer(tokenizerFile(run.model), config);
  const parameters = await startingParameters(run);
  const plan = planOf(run, parameters, data, corpus);
  const { preBatch } = run.batch;
  const given = givenWeights(run, parameters);
  const queue = preBatch > 0 ? openPreBatchQueue(preBatch) : undefined;
  const checkpoint = await resume(run, plan, filesOfPlan(data, corpus), parameters, queue);
  await createOutputDirectory(out);
  await createOutputDirectory(run.folder);
  const { measurements, signal } = run;
  const set = await openMeasuredSet({ ...measurements, model: run.model, signal }, data, corpus);
  const step = checkpoint?.step ?? 0;
  const models = checkpoint && set ? await readMeasured(run.folder, step) : [];
  const { trained, tau, optimizer } = run;
  const engineRun = { trained, tau, ...optimizer };
  await using engine = yield* openEngine(config, parameters, engineRun, run.device, queue);
  await using log = await openRunLog(run, checkpoint, describeRun(run, data, set, models));
  const state: RunState = {
    run,
    tokenizer,
    corpus,
    data,
    plan,
    engine,
    given,
    queue,
    log,
    set,
    models,
    step,
    budget,
    savedStep: checkpoint?.step,
    changes: [...(checkpoint?.schedule ?? [])],
    durations: undefined,
    stepSeconds: [],
    resumedAt: step,
    examples: undefined,
    diverged: undefined,
  };
  await using refresh = await openRefresh(state);

  if (checkpoint) yield { type: "stage", name: continuing(state) };
  if (isMeasured(state)) yield* measure(state);
  if (!checkpoint && canMeasure(state)) yield* tryTokenWeights(state);
  fitToTime(state, false); // perhaps no time is left to train
  yield* trainStages(state, refresh);
  if (state.step === lastStep(state) && !isStopped(state)) yield* measure(state);
  return yield* finalise(state);
}

const continuing = (state: RunState): string =>
  `continuing after step ${state.step} of ${lastStep(state)}`;

/** How the report names the run, and the questions that choose its model. */
function describeRun(
  { model, average }: Run,
  data: TrainingData,
  set: MeasuredSet | undefined,
  models: readonly MeasuredModel[],
): RunDescription {
  const kind = data.kind ?? `Training of ${modelTitle(model)}`;
  const examples = data.counts;
  if (!set) return { kind, examples };
  const selection = selectionOf(set, average);
  const keptStep = models.length > 0 ? chosenOf(models).step : undefined;
  return { kind, baseline: set.baseline, selection, examples, keptStep };
}

/** Finds the checkpoint to resume from, and copies its state into `parameters` and `queue`. */
async function resume(
  run: Run,
  plan: RunPlan,
  files: Readonly<Record<string, string>>,
  parameters: ReadonlyMap<string, ParameterState>,
  queue: PreBatchQueue | undefined,
): Promise<RunCheckpoint | undefined> {
  const found = await findRun(run.out, run.resume);
  if (!found) return undefined;
  const checkpoint = lengthened(found, plan);
  checkPlan(run.out, checkpoint, plan, files);
  await removeOtherStates(join(run.folder, "checkpoint"), checkpoint.state);
  await restoreCheckpoint(join(run.folder, "checkpoint"), checkpoint, parameters, queue);
  return checkpoint;
}

/** A snapshot is also a checkpoint: a resumed run never starts before its last snapshot. */
async function openRefresh(state: RunState): Promise<BackgroundRefresh | undefined> {
  const { run, corpus, data, engine } = state;
  if (run.schedule.refresh !== "background") return undefined;
  return openBackgroundRefresh(run, corpus, data, {
    resumed: state.savedStep !== undefined,
    saveSnapshot: async (folder) => {
      await save(state);
      await saveModel(folder, run.config, await engine.parameters(), run);
    },
  });
}

async function* trainStages(
  state: RunState,
  refresh: BackgroundRefresh | undefined,
): AsyncGenerator<RunEvent> {
  while (state.step < lastStep(state) && !isStopped(state) && !failureOf(state)) {
    yield* trainStage(state, yield* nextStage(state), refresh);
    if (state.diverged !== undefined) return; // the last checkpoint is of a model that worked
    yield await save(state);
  }
}

/** The stage of the next step. With a background refresh, every step decides on its examples. */
async function* nextStage(state: RunState): AsyncGenerator<RunEvent, Stage> {
  const { run, tokenizer, step } = state;
  const { iterations, steps, refresh } = run.schedule;
  // With a time budget, the last one can have more steps.
  const iteration = Math.min(iterations - 1, Math.floor(step / steps));
  if (refresh !== "background") state.examples = yield* findExamples(state, iteration);
  return iterationStage(run, iteration, () => state.examples!.source, tokenizer);
}

/**
 * After the first iteration, the current model finds the candidates, unless `refresh` is "none".
 */
async function* findExamples(
  { run, engine, corpus, data }: RunState,
  iteration: number,
): AsyncGenerator<RunEvent, SnapshotExamples> {
  const { steps, refresh } = run.schedule;
  if (iteration === 0 || refresh === "none")
    return { source: yield* data.examples(iteration, undefined), snapshot: undefined };
  const parameters = await engine.parameters();
  const source = yield* withCurrentModel(run, parameters, corpus, (model, index) =>
    data.examples(iteration, modelCandidates(model, index)),
  );
  return { source, snapshot: iteration * steps };
}

/** Trains to the end of the stage, or until the run is stopped or fails. */
async function* trainStage(
  state: RunState,
  stage: Stage,
  refresh: BackgroundRefresh | undefined,
): AsyncGenerator<RunEvent> {
  let saved = performance.now();
  const end = state.budget ? Infinity : stage.first + stage.steps;
  const last = (): number => Math.min(end, lastStep(state));
  while (state.step < last() && !isStopped(state)) {
    if (refresh) state.examples = yield* refresh.examples(state.step);
    yield* trainStep(state, stage);
    if (state.diverged !== undefined) return;
    const measured = isMeasured(state);
    if (measured) yield* measure(state);
    if (state.diverged !== undefined) return;
    fitToTime(state, measured);
    endIfStale(state);
    if (!measured && performance.now() - saved < CHECKPOINT_SECONDS * 1000) continue;
    yield await save(state);
    saved = performance.now();
    if (failureOf(state)) return;
  }
}

/** Whether the model of this step is measured. A stopped run measures dev when it is resumed. */
const isMeasured = (state: RunState): boolean =>
  isMonitorStep(state) && !(isStopped(state) && !state.set?.passages);

async function* trainStep(state: RunState, stage: Stage): AsyncGenerator<RunEvent> {
  const { run, engine, log, changes } = state;
  const { learningRate: peak, warmUp } = run.schedule;
  const start = performance.now();
  const step = state.step - stage.first;
  const cycle = { first: stage.first, steps: stage.steps, peak, warmUp };
  const learningRate = learningRateAt(state.step + 1, cycle, changes);
  const losses = await engine.step({
    examples: stage.examples(step),
    objectives: stage.objectives(step),
    learningRate,
    step: state.step + 1,
    key: stage.seed,
    preBatch: Math.min(run.batch.preBatch, step), // an earlier iteration has other examples
  });
  timeStep(state, (performance.now() - start) / 1000);
  state.diverged = divergedLoss(losses, state.step + 1);
  if (state.diverged !== undefined) return;
  state.step++;
  const questionsPerSecond = (1000 * run.batch.questions) / (performance.now() - start);
  const done = { step: state.step, losses, learningRate, questionsPerSecond };
  const learned = scaleAndHeads(await engine.learnedScalars(), run);
  await log.step({ ...done, staleness: stalenessOf(state), ...learned });
  yield { type: "step", ...done, steps: lastStep(state) };
}

/** The learned scalars as the log has them: exp(s), and the shares of the heads if mixed. */
function scaleAndHeads(
  learnedScalars: ReadonlyMap<string, ParameterState>,
  { tau }: Run,
): { scale: number; headWeights: number[] | undefined } {
  const scale = Math.exp(learnedScalars.get(LOG_SCALE)!.value[0]!);
  const weights = learnedScalars.get(HEAD_WEIGHTS)?.value;
  if (!weights || tau === undefined) return { scale, headWeights: undefined };
  const highest = Math.max(...weights);
  const shares = Array.from(weights, (weight) => Math.exp((weight - highest) / tau));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return { scale, headWeights: shares.map((share) => share / total) };
}

async function save(state: RunState): Promise<RunEvent> {
  const { run, plan, step, log, engine, queue, changes } = state;
  await log.sync();
  const directory = join(run.folder, "checkpoint");
  const schedule = changes.length > 0 ? changes : undefined;
  const progress = { plan, step, seconds: log.seconds(), schedule };
  await writeCheckpoint(directory, progress, await engine.parameters(), queue);
  state.savedStep = step;
  return { type: "checkpoint", step, directory };
}

/**
 * Saves the model unless a measurement did, calibrates it, writes the report, and returns the
 * result.
 */
async function* finalise(state: RunState): AsyncGenerator<RunEvent, TrainingResult> {
  const { run, engine, given, set, step, models, log } = state;
  const failure = failureOf(state);
  const complete = !failure && step === lastStep(state);
  if (complete && !set) {
    const parameters = keptParameters(await engine.parameters(), given);
    await saveModel(run.out, run.config, parameters, run);
  }
  const outcome =
    set && models.length > 0 ? outcomeOf(models, set, changesReading(run)) : undefined;
  const isEnded = complete || failure !== undefined;
  // No gain: the model is the given one, not one that was read and written again.
  if (isEnded && outcome?.step === 0) await saveStart(run, outcome.hybrid.weights);
  const last = complete ? step : undefined;
  const saved = isEnded ? (outcome?.step ?? last) : savedStep(models);
  const kept = outcome?.kept ?? "trained";
  const isTrained = kept === "trained" || kept === "mean";
  const isCalibrated = isEnded && saved !== undefined && isTrained && changesReading(run);
  const calibrated = isCalibrated ? yield* calibrateKept(state) : "";
  const isOver = isEnded && calibrated !== undefined;
  const { headWeights } = scaleAndHeads(await engine.learnedScalars(), run);
  const written =
    isOver && saved !== undefined
      ? await describeWritten(run, { isTrained, calibrated, headWeights })
      : undefined;
  const reason = failure ? `: ${failure}` : "";
  const status = `${complete && isOver ? "Finished" : "Stopped"} after step ${step}${reason}.`;
  const end = {
    verdict: outcome && verdictOf({ outcome, step }),
    keptStep: outcome?.step,
    notes: written?.notes ?? [],
  };
  const report = await log.report(status, isOver ? end : undefined);
  return {
    folder: run.out,
    report,
    step,
    finished: isOver,
    failure,
    ...(state.diverged !== undefined && { diverged: state.diverged }),
    checkpoint: state.savedStep,
    ...(!isOver && { checkpointBytes: await folderBytes(join(run.folder, "checkpoint")) }),
    samples: log.samples(isOver ? outcome?.step : undefined),
    outcome,
    saved,
    written,
  };
}

/** The step of the model that the measurements so far have saved. */
const savedStep = (models: readonly MeasuredModel[]): number | undefined =>
  models.length > 0 ? chosenOf(models).step : undefined;
