/** The plan of a run: what it does, and estimates of time, memory and disk space. */

import { modelTitle } from "../../hub/model-title.ts";
import { textLayers, vectorSize } from "../../model/config.ts";
import { parameterShapes } from "../../model/parameter-names.ts";
import { countLayers } from "../../model/stack.ts";
import { loadTokenizer, tokenizerFile } from "../../text/tokens/tokenizer.ts";
import { heldStatesBytes } from "../engine/held-states.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { AnsweredCount } from "../examples/corpus-answers.ts";
import { CHUNK_TOKENS, RETRIEVAL_CHUNK_TOKENS } from "../gradient-cache/chunk-size.ts";
import { heldLayers } from "../objectives/held-layers.ts";
import type { ObjectiveName } from "../objectives/index.ts";
import { MIN_STEPS } from "../options/run-options.ts";
import type { Part } from "../options/trained.ts";
import type { Run } from "../run/run.ts";
import type { TimeBudget } from "../run/time-budget.ts";
import {
  type CorpusSample,
  calibrationSeconds,
  compressionSeconds,
  estimatePace,
  type IndexedCorpus,
  measurementSeconds,
  type Pace,
  type PlannedMeasurement,
  sampleCorpus,
  secondsOfProduct,
  stepsInTime,
  type TimedSteps,
} from "./pace.ts";
import type { PlanSample } from "./samples.ts";
import { isRead } from "./work.ts";

/** What a run is going to do. All numbers of time and size are estimates. */
export interface TrainingPlan {
  /** The model that the run starts from. */
  readonly model: string;
  /** Number of parameters. */
  readonly parameters: number;
  /** Number of passages. */
  readonly passages: number;
  /**
   * Share of the passages' tokens that the tokenizer does not know; near 0 for a known language.
   */
  readonly unknownTokens: number;
  /** The part of the model that is trained. */
  readonly train: Part;
  /** How many of the last layers of `train`; undefined for all. */
  readonly layers?: number | undefined;
  /** Whether the mean of the weights before and after is measured and saved. */
  readonly average: boolean;
  /** Whether an index of `model` remains valid. */
  readonly keepsIndex: boolean;
  /** Whether the corpus is indexed at the end. */
  readonly writesIndex: boolean;
  /** The sources, each with its maximum number of examples. */
  readonly sources: readonly { readonly name: string; readonly examples: number }[];
  /** How many questions of the training file have an answer in the corpus. */
  readonly answered?: AnsweredCount | undefined;
  /** What the corpus looks like, if the sources were chosen by it. */
  readonly reason?: string | undefined;
  /** How often passages are searched with the model as it then is. */
  readonly iterations: number;
  /** Steps of each iteration. With a time limit, those that fit. */
  readonly steps: number;
  /** Questions of a step. */
  readonly questions: number;
  /** Passages that each question is trained with. */
  readonly candidatesPerQuestion: number;
  /** What the loss is. */
  readonly objective: ObjectiveName;
  /** The highest one. */
  readonly learningRate: number;
  /** Longer passages are cut in training. */
  readonly maxPassageTokens: number;
  /** What the kept model is chosen with. Undefined: nothing, and the last model is kept. */
  readonly measured?: PlannedMeasurement | undefined;
  /** Why nothing is measured, as far as it was decided. */
  readonly unmeasured?: string | undefined;
  /** Steps between two measurements. */
  readonly monitorSteps: number;
  /** The time limit, if there is one: then the run corrects the number of steps. */
  readonly minutes?: number | undefined;
  /** What would do, if the steps are too few to show a gain; minutes with a time limit. */
  readonly enough?: { readonly steps: number; readonly minutes?: number | undefined } | undefined;
  /**
   * Of training and indexing: counted from the sizes of model and corpus, with the speed of one
   * product of matrices on this machine. The first steps correct it.
   */
  readonly seconds: number;
  /** Maximum memory. */
  readonly memoryBytes: number;
  /** Maximum disk space. */
  readonly diskBytes: number;
  /** Some examples, formatted. */
  readonly samples: readonly string[];
}

/** Comes before anything is written. */
export interface PlanEvent {
  /** Tells it from other events. */
  readonly type: "plan";
  /** What the run will do, and about how long it takes. */
  readonly plan: TrainingPlan;
}

/** What a run works on. */
export interface RunWork extends IndexedCorpus {
  /** What the run is measured with. Undefined: nothing. */
  readonly measured: PlannedMeasurement | undefined;
  /** Why nothing is measured, in words. */
  readonly unmeasured?: string | undefined;
  /** Held-out questions that calibrations are fitted to. */
  readonly asked: number;
  readonly samples: readonly PlanSample[];
}

/** What a run trains on. */
export type PlannedExamples = Pick<TrainingPlan, "sources" | "answered" | "reason"> & {
  /** How many are made of documents. */
  readonly made: number;
};

/** How long the parts of a run take. */
export interface Estimate {
  readonly sample: CorpusSample;
  readonly pace: Pace;
  /** Seconds to calibrate the model at the end. */
  readonly calibration: number;
  /** What the time limit allows, if there is one. */
  readonly timed: TimedSteps | undefined;
}

export async function estimateRun(run: Run, work: RunWork, corpus: Corpus): Promise<Estimate> {
  const { config, minutes } = run;
  const tokenizer = await loadTokenizer(tokenizerFile(run.model), config);
  const sample = await sampleCorpus(run, corpus, tokenizer);
  const product = await secondsOfProduct(run.device.provider);
  const pace = estimatePace(run, sample, work.samples, tokenizer, product);
  const calibration = calibrationSeconds(run, work.asked, pace);
  const timed =
    minutes === undefined
      ? undefined
      : stepsInTime({ config, minutes }, work, pace, sample, calibration);
  return { sample, pace, calibration, timed };
}

/**
 * The run with its number of steps. The first steps correct an estimate that is too low: they need
 * examples, and steps to come.
 *
 * @param given as the user or the record has it
 */
export function withSteps<Planned extends Run>(
  run: Planned,
  given: number | undefined,
  { timed }: Estimate,
): Planned {
  const planned = timed ? Math.max(MIN_STEPS, timed.steps) : run.schedule.steps;
  return { ...run, schedule: { ...run.schedule, steps: given ?? planned } };
}

/**
 * The time limit of a run.
 *
 * @param started when the run began, in milliseconds
 */
export function budgetOf(
  run: Run,
  started: number,
  { measured, ...corpus }: RunWork,
  { sample, pace, calibration }: Estimate,
): TimeBudget | undefined {
  const { minutes } = run;
  if (minutes === undefined) return undefined;
  const { passages, writesIndex } = corpus;
  // of tokens of the corpus; without measurements there is an index of all of it
  const measuredTokens = measured ? measured.passages * sample.trained : passages * sample.indexed;
  const share = measuredTokens / (passages * sample.indexed);
  return {
    secondsLeft: () => 60 * minutes - (performance.now() - started) / 1000,
    planned: {
      measurement: measurementSeconds(measured, pace, sample),
      index: share * passages * pace.passage,
    },
    indexedAfter: writesIndex ? 1 / share : 0,
    compressionAfter: compressionSeconds(run, corpus, sample),
    calibrationAfter: calibration,
  };
}

/** Made per second: two sentences are tagged for each usable one, and near copies are removed. */
const EXAMPLES_PER_SECOND = 150;

export function planRun(
  run: Run,
  { samples, measured, unmeasured, ...corpus }: RunWork,
  { made, ...examples }: PlannedExamples,
  { sample, pace, calibration, timed }: Estimate,
): TrainingPlan {
  const { average, keepsIndex, minutes } = run;
  const { passages, writesIndex } = corpus;
  const { every } = run.measurements;
  const { iterations, learningRate } = run.schedule;
  const steps = Math.min(run.schedule.steps, timed?.steps ?? Infinity);
  const { questions, candidatesPerQuestion, maxPassageTokens } = run.batch;
  const measurements = 2 + Math.floor((iterations * steps) / every);
  const refreshes = refreshesOf(run);
  // Fixed keys need one index of the corpus.
  const indexes = keepsIndex ? Math.min(1, refreshes) : refreshes + Number(writesIndex);
  const parameters = [...parameterShapes(run.config).values()]
    .map((shape) => shape.reduce((product, size) => product * size, 1))
    .reduce((sum, count) => sum + count, 0);
  return {
    model: modelTitle(run.model),
    parameters,
    passages,
    unknownTokens: sample.unknown,
    train: run.part,
    ...(run.layers !== undefined && { layers: run.layers }),
    average,
    keepsIndex,
    writesIndex,
    ...examples,
    iterations,
    steps,
    questions,
    candidatesPerQuestion,
    objective: run.objective.objective,
    learningRate,
    maxPassageTokens,
    ...(measured && { measured }),
    ...(unmeasured !== undefined && { unmeasured }),
    monitorSteps: every,
    ...(minutes !== undefined && { minutes }),
    ...(iterations * steps < MIN_STEPS && {
      enough: { steps: MIN_STEPS, minutes: timed?.enough },
    }),
    seconds:
      iterations * steps * pace.step +
      indexes * passages * pace.passage +
      calibration +
      compressionSeconds(run, corpus, sample) +
      measurements * measurementSeconds(measured, pace, sample) +
      made / EXAMPLES_PER_SECOND,
    ...sizesOf(run, corpus, sample, parameters),
    samples: samples.map(({ text }) => text),
  };
}

/** Maximum number of times that the model finds candidates. */
function refreshesOf({ schedule }: Run): number {
  const { refresh, refreshSteps, iterations, steps } = schedule;
  if (refresh === "none") return 0;
  return refresh === "iterations"
    ? iterations - 1
    : Math.floor((iterations * steps - 1) / refreshSteps);
}

/** Node and onnxruntime: a run of a model of half a million parameters took 1.2 GB. */
const BASE_BYTES = 1_200_000_000;
const FLOAT_BYTES = 4;

function sizesOf(
  run: Run,
  { passages, writesIndex }: IndexedCorpus,
  { characters, indexed }: CorpusSample,
  parameters: number,
): { memoryBytes: number; diskBytes: number } {
  const { config } = run;
  const { refresh, steps } = run.schedule;
  const { questions, candidatesPerQuestion } = run.batch;
  const model = parameters * FLOAT_BYTES;
  const texts = Math.min(passages, steps * questions * candidatesPerQuestion) * characters;
  const keys = config.retrievalAttention.pooling === undefined ? indexed : 1;
  const index = passages * (keys * vectorSize(config) * FLOAT_BYTES + characters);
  const searched = Math.min(1, refreshesOf(run));
  const process = refresh === "background" ? BASE_BYTES + model : 0;
  return {
    // 7 models: value, gradient, two moments, gradients of a chunk, and the measured model's
    // encoder and reader
    memoryBytes:
      BASE_BYTES + 7 * model + stepBytes(run) + heldBytes(run, passages) + 2 * texts + process,
    // 6 of a checkpoint that replaces another, the best weights, the saved model, the measured
    // model, and the model that finds candidates
    diskBytes: (6 + 3 + searched) * model + (searched + Number(writesIndex)) * index,
  };
}

/**
 * Values that a token of a chunk holds in each layer with gradients, in units of the model size.
 * Measured with models/reatt-mini: 30 with `supervised`, 34 with `retrieval`. The rest is memory
 * that onnxruntime keeps, because batches differ in length (docs/experiments/speed.md).
 */
const VALUES_PER_TOKEN = 54;

/** States and gradients of a chunk of a step. */
function stepBytes(run: Run): number {
  const { config, batch, trained } = run;
  const { questions, candidatesPerQuestion, maxPassageTokens } = batch;
  const ofLayer = VALUES_PER_TOKEN * config.modelSize * FLOAT_BYTES;
  const ofTexts = textLayers(config);
  if (isRead(run))
    return CHUNK_TOKENS * (ofTexts + countLayers(config.joint) + config.decoder.layers) * ofLayer;
  const computed = Math.max(1, ofTexts - (heldLayers(config, trained.names, false) ?? 0));
  const tokens = questions * candidatesPerQuestion * maxPassageTokens;
  return Math.min(RETRIEVAL_CHUNK_TOKENS, tokens) * computed * ofLayer;
}

/** The states that a run holds because the layers below them do not change. */
function heldBytes(run: Run, passages: number): number {
  const { config, trained, batch } = run;
  if (heldLayers(config, trained.names, isRead(run)) === undefined) return 0;
  const questions = run.schedule.iterations * run.schedule.steps * batch.questions;
  const read = Math.min(passages, questions * batch.candidatesPerQuestion);
  return heldStatesBytes(config, read * batch.maxPassageTokens);
}
