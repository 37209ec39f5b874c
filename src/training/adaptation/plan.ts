/** The plan of an adaptation: what it does, and estimates of time, memory and disk space. */

import { modelTitle } from "../../hub/model-title.ts";
import { type ModelConfig, vectorSize } from "../../model/config.ts";
import { chunkBytes } from "../engine/chunk-memory.ts";
import { isOneChunk } from "../engine/engine.ts";
import { fixedStatesBytes } from "../engine/fixed-states.ts";
import { measureMatMulRate } from "../engine/matmul-rate.ts";
import { fixedLayers } from "../engine/open-engine.ts";
import { workerBytes } from "../engine/workers.ts";
import type { AnsweredCount } from "../examples/answered.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { SourceName } from "../examples/sources/names.ts";
import type { ObjectiveName, QuerySide } from "../loss/options.ts";
import type { ResolvedAdaptOptions } from "../options/adapt-options.ts";
import { trainedExamples, wantedExamples } from "./example-counts.ts";
import type { AdaptationInputs } from "./inputs.ts";
import type { MeanLengths } from "./lengths.ts";
import { monitoredPassages } from "./monitor-set.ts";
import type { AdaptationSample } from "./samples.ts";
import { type Work, workOf } from "./work.ts";

/** What an adaptation is going to do. All numbers of time and size are estimates. */
export interface AdaptationPlan {
  readonly model: string;
  /** Number of parameters. */
  readonly parameters: number;
  /** Number of passages. */
  readonly passages: number;
  /**
   * Share of the passages' tokens that the tokenizer does not know; near 0 for a known language.
   */
  readonly unknownTokens: number;
  /** The part that is trained; undefined if everything is trained. */
  readonly querySide: QuerySide | undefined;
  /** The sources, each with its maximum number of examples. */
  readonly sources: readonly { readonly name: SourceName; readonly examples: number }[];
  /** How many questions of the training file have an answer in the corpus. */
  readonly answered?: AnsweredCount | undefined;
  /** What the corpus looks like, if the sources were chosen by it. */
  readonly reason?: string | undefined;
  readonly iterations: number;
  readonly steps: number;
  readonly questions: number;
  readonly candidatesPerQuestion: number;
  readonly objective: ObjectiveName;
  /** The highest one. */
  readonly learningRate: number;
  /** Longer passages are cut in training. */
  readonly maxPassageTokens: number;
  /** The time limit, if there is one: then the run corrects the number of steps. */
  readonly minutes?: number | undefined;
  /** Of training and indexing, from a matrix product measured now. */
  readonly seconds: number;
  /** Maximum memory. */
  readonly memoryBytes: number;
  /** Maximum disk space. */
  readonly diskBytes: number;
  /** Some examples, formatted. */
  readonly samples: readonly string[];
}

/**
 * Rate of a training step relative to a large matrix product: 60 to 72 of 122 GFLOP/s on two cores
 * (docs/experiments/speed.md).
 */
const EFFICIENCY = 0.55;
/** Node and onnxruntime: a run of a model of half a million parameters took 1.2 GB. */
const BASE_BYTES = 1_200_000_000;
const FLOAT_BYTES = 4;
/** Made per second: two sentences are tagged for each usable one, and near copies are removed. */
const EXAMPLES_PER_SECOND = 150;

/** Floating-point operations per second of training and indexing, measured now. */
export const measureRate = async (
  { modelSize }: ModelConfig,
  options: ResolvedAdaptOptions,
): Promise<number> => EFFICIENCY * (await measureMatMulRate(modelSize, options));

export interface PlanInputs {
  readonly inputs: AdaptationInputs;
  readonly samples: readonly AdaptationSample[];
  readonly lengths: MeanLengths;
  /** Operations per second. */
  readonly rate: number;
}

/** @param config configuration of the adapted model */
export function planAdaptation(
  options: ResolvedAdaptOptions,
  config: ModelConfig,
  corpus: Pick<Corpus, "size">,
  { inputs, samples, lengths, rate }: PlanInputs,
): AdaptationPlan {
  const work = workOf(config, options, lengths);
  const { iterations, steps, questions, candidatesPerQuestion, monitorSteps } = options;
  const passages = corpus.size;
  const measurements = 2 + Math.floor((iterations * steps) / monitorSteps);
  const indexed =
    indexesOf(options) * passages + measurements * monitoredPassages(options, passages);
  const { names, labelFree, reason } = inputs.sources;
  const trained = trainedExamples(inputs, options);
  const made = new Map<SourceName, number>(
    labelFree.map(({ name, available }) => [
      name,
      Math.min(available, wantedExamples(options, inputs.sources, name)),
    ]),
  );
  const examples = new Map(made).set("questions", trained.questions).set("labels", trained.labels);
  return {
    model: modelTitle(options.model),
    parameters: work.parameters,
    passages,
    unknownTokens: lengths.unknown,
    querySide: options.querySide,
    sources: names.map((name) => ({ name, examples: examples.get(name)! })),
    ...{ reason, answered: inputs.answered },
    ...{ iterations, steps, questions, candidatesPerQuestion },
    objective: options.objective,
    learningRate: options.learningRate,
    maxPassageTokens: options.maxPassageTokens,
    ...(options.minutes !== undefined && { minutes: options.minutes }),
    seconds:
      (iterations * steps * work.step + indexed * work.passage) / rate +
      [...made.values()].reduce((sum, count) => sum + count, 0) / EXAMPLES_PER_SECOND,
    ...sizesOf(config, options, passages, lengths, work),
    samples: samples.map(({ text }) => text),
  };
}

/** Maximum number of times that the model finds candidates. */
function refreshesOf({ refresh, refreshSteps, iterations, steps }: ResolvedAdaptOptions): number {
  if (refresh === "none") return 0;
  return refresh === "iterations"
    ? iterations - 1
    : Math.floor((iterations * steps - 1) / refreshSteps);
}

/** Indexes of the whole corpus: for each refresh and at the end. Fixed keys need one index only. */
function indexesOf(options: ResolvedAdaptOptions): number {
  const refreshes = refreshesOf(options);
  return options.querySide ? Math.min(1, refreshes) : refreshes + 1;
}

/** What the chunks of a step take that are computed at the same time. */
function stepBytes(config: ModelConfig, options: ResolvedAdaptOptions, model: number): number {
  const chunk = chunkBytes(config, options);
  const { objective, questions, candidatesPerQuestion, maxPassageTokens, workers } = options;
  const tokens = questions * candidatesPerQuestion * maxPassageTokens;
  const isParallel = workers > 1 && !isOneChunk(objective, tokens);
  return isParallel ? workers * workerBytes(model, chunk) : chunk;
}

/** The states that a run holds because the layers below them do not change. */
function heldBytes(
  config: ModelConfig,
  options: ResolvedAdaptOptions,
  passages: number,
  lengths: MeanLengths,
): number {
  const { objective, querySide, dropout = config.dropoutRate } = options;
  const retrievalOnly = objective === "retrieval";
  if (!fixedLayers(config, options, { retrievalOnly, querySide, dropout })) return 0;
  const questions = options.iterations * options.steps * options.questions;
  const read = Math.min(passages, questions * options.candidatesPerQuestion);
  return fixedStatesBytes(config, read * lengths.passage + questions * lengths.question);
}

function sizesOf(
  config: ModelConfig,
  options: ResolvedAdaptOptions,
  passages: number,
  lengths: MeanLengths,
  { parameters }: Work,
): { memoryBytes: number; diskBytes: number } {
  const { refresh, steps, questions, candidatesPerQuestion } = options;
  const model = parameters * FLOAT_BYTES;
  const held = Math.min(passages, steps * questions * candidatesPerQuestion) * lengths.characters;
  const keys = config.pooling === undefined ? lengths.indexed : 1;
  const index = passages * (keys * vectorSize(config) * FLOAT_BYTES + lengths.characters);
  const searched = Math.min(1, refreshesOf(options));
  const process = refresh === "background" ? BASE_BYTES + model : 0;
  const states = heldBytes(config, options, passages, lengths);
  const step = stepBytes(config, options, model) + states;
  return {
    // 7 models: value, gradient, two moments, gradients of a chunk, and the measured model's
    // encoder and reader
    memoryBytes: BASE_BYTES + 7 * model + step + 2 * held + process,
    // 6 of a checkpoint that replaces another, the best weights, the saved model, the measured
    // model, and the model that finds candidates
    diskBytes: (6 + 3 + searched) * model + (searched + (options.querySide ? 0 : 1)) * index,
  };
}
