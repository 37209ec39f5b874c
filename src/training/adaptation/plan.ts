/** The plan of an adaptation: what it does, and estimates of time, memory and disk space. */

import { modelTitle } from "../../hub/model-title.ts";
import { textLayers, vectorSize } from "../../model/config.ts";
import { parameterShapes } from "../../model/parameter-names.ts";
import { countLayers } from "../../model/stack.ts";
import { CHUNK_TOKENS, RETRIEVAL_CHUNK_TOKENS } from "../engine/engine.ts";
import { heldStatesBytes } from "../engine/held-states.ts";
import type { AnsweredCount } from "../examples/corpus-answers.ts";
import { heldLayers } from "../objectives/held-layers.ts";
import type { ObjectiveName } from "../objectives/index.ts";
import { MIN_STEPS } from "../options/run-options.ts";
import type { Part } from "../options/trained.ts";
import type { Run } from "../run/run.ts";
import { type Adaptation, trainedExamples, wantedExamples } from "./adaptation.ts";
import type { AdaptationInputs } from "./inputs.ts";
import { sourcesIn } from "./label-free.ts";
import {
  type CorpusSample,
  compressionSeconds,
  measurementSeconds,
  type Pace,
  type TimedSteps,
} from "./pace.ts";
import type { AdaptationSample } from "./samples.ts";
import { isRead } from "./work.ts";

/** What an adaptation is going to do. All numbers of time and size are estimates. */
export interface AdaptationPlan {
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

/** Made per second: two sentences are tagged for each usable one, and near copies are removed. */
const EXAMPLES_PER_SECOND = 150;

export interface PlanInputs {
  readonly inputs: AdaptationInputs;
  readonly samples: readonly AdaptationSample[];
  readonly sample: CorpusSample;
  readonly pace: Pace;
  /** Seconds to calibrate the model at the end. */
  readonly calibration: number;
  /** What the time limit allows, if there is one. */
  readonly timed: TimedSteps | undefined;
}

/** @param passages of the corpus */
export function planAdaptation(
  run: Adaptation,
  passages: number,
  { inputs, samples, sample, pace, calibration, timed }: PlanInputs,
): AdaptationPlan {
  const { monitorSteps, minutes, average, keepsIndex, writesIndex } = run;
  const { iterations, learningRate } = run.schedule;
  const steps = Math.min(run.schedule.steps, timed?.steps ?? Infinity);
  const { questions, candidatesPerQuestion, maxPassageTokens } = run.batch;
  const measurements = 2 + Math.floor((iterations * steps) / monitorSteps);
  const refreshes = refreshesOf(run);
  // Fixed keys need one index of the corpus.
  const indexes = keepsIndex ? Math.min(1, refreshes) : refreshes + Number(writesIndex);
  const { labelFree, reason } = inputs.sources;
  const trained = trainedExamples(inputs, run);
  const made = new Map(
    labelFree.map(({ source, available }) => [
      source.name,
      Math.min(available, wantedExamples(run, inputs.sources, source)),
    ]),
  );
  const examples = new Map(made).set("questions", trained.questions).set("labels", trained.labels);
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
    sources: sourcesIn(inputs.sources).map(({ name }) => ({ name, examples: examples.get(name)! })),
    reason,
    answered: inputs.answered,
    iterations,
    steps,
    questions,
    candidatesPerQuestion,
    objective: run.objective.objective,
    learningRate,
    maxPassageTokens,
    ...(minutes !== undefined && { minutes }),
    ...(iterations * steps < MIN_STEPS && {
      enough: { steps: MIN_STEPS, minutes: timed?.enough },
    }),
    seconds:
      iterations * steps * pace.step +
      indexes * passages * pace.passage +
      calibration +
      compressionSeconds(run, passages, sample) +
      measurements * measurementSeconds(run, passages, pace, sample) +
      [...made.values()].reduce((sum, count) => sum + count, 0) / EXAMPLES_PER_SECOND,
    ...sizesOf(run, passages, sample, parameters),
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
  run: Adaptation,
  passages: number,
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
    diskBytes: (6 + 3 + searched) * model + (searched + Number(run.writesIndex)) * index,
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
