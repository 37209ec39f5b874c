/** The plan of an adaptation: what it does, and estimates of time, memory and disk space. */

import { modelTitle } from "../../hub/model-title.ts";
import { vectorSize } from "../../model/config.ts";
import { chunkBytes } from "../engine/chunk-memory.ts";
import { isOneChunk } from "../engine/engine.ts";
import { heldStatesBytes } from "../engine/held-states.ts";
import { measureMatMulRate } from "../engine/matmul-rate.ts";
import { workerBytes } from "../engine/workers.ts";
import type { AnsweredCount } from "../examples/answered.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { SourceName } from "../examples/sources/names.ts";
import { heldLayers } from "../objectives/held-layers.ts";
import type { ObjectiveName } from "../objectives/index.ts";
import type { Part } from "../options/trained.ts";
import type { Run } from "../run/run.ts";
import type { Adaptation } from "./adaptation.ts";
import { trainedExamples, wantedExamples } from "./example-counts.ts";
import type { AdaptationInputs } from "./inputs.ts";
import type { MeanLengths } from "./lengths.ts";
import { monitoredPassages } from "./monitor-set.ts";
import type { AdaptationSample } from "./samples.ts";
import { type Work, workOf } from "./work.ts";

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
  /** Whether an index of `model` remains valid. */
  readonly keepsIndex: boolean;
  /** The sources, each with its maximum number of examples. */
  readonly sources: readonly { readonly name: SourceName; readonly examples: number }[];
  /** How many questions of the training file have an answer in the corpus. */
  readonly answered?: AnsweredCount | undefined;
  /** What the corpus looks like, if the sources were chosen by it. */
  readonly reason?: string | undefined;
  /** How often passages are searched with the model as it then is. */
  readonly iterations: number;
  /** Steps of each iteration. */
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
export const measureRate = async ({ config, device }: Run): Promise<number> =>
  EFFICIENCY * (await measureMatMulRate(config.modelSize, device));

export interface PlanInputs {
  readonly inputs: AdaptationInputs;
  readonly samples: readonly AdaptationSample[];
  readonly lengths: MeanLengths;
  /** Operations per second. */
  readonly rate: number;
}

export function planAdaptation(
  run: Adaptation,
  corpus: Pick<Corpus, "size">,
  { inputs, samples, lengths, rate }: PlanInputs,
): AdaptationPlan {
  const work = workOf(run, lengths);
  const { monitorSteps, minutes } = run;
  const { iterations, steps, learningRate } = run.schedule;
  const { questions, candidatesPerQuestion, maxPassageTokens } = run.batch;
  const passages = corpus.size;
  const measurements = 2 + Math.floor((iterations * steps) / monitorSteps);
  const indexed = indexesOf(run) * passages + measurements * monitoredPassages(run, passages);
  const { names, labelFree, reason } = inputs.sources;
  const trained = trainedExamples(inputs, run);
  const made = new Map<SourceName, number>(
    labelFree.map(({ name, available }) => [
      name,
      Math.min(available, wantedExamples(run, inputs.sources, name)),
    ]),
  );
  const examples = new Map(made).set("questions", trained.questions).set("labels", trained.labels);
  return {
    model: modelTitle(run.model),
    parameters: work.parameters,
    passages,
    unknownTokens: lengths.unknown,
    train: run.part,
    ...(run.layers !== undefined && { layers: run.layers }),
    keepsIndex: run.keepsIndex,
    sources: names.map((name) => ({ name, examples: examples.get(name)! })),
    ...{ reason, answered: inputs.answered },
    ...{ iterations, steps, questions, candidatesPerQuestion },
    objective: run.objective.objective,
    ...{ learningRate, maxPassageTokens },
    ...(minutes !== undefined && { minutes }),
    seconds:
      (iterations * steps * work.step + indexed * work.passage) / rate +
      [...made.values()].reduce((sum, count) => sum + count, 0) / EXAMPLES_PER_SECOND,
    ...sizesOf(run, passages, lengths, work),
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

/** Indexes of the whole corpus: for each refresh and at the end. Fixed keys need one index only. */
function indexesOf(run: Run): number {
  const refreshes = refreshesOf(run);
  return run.keepsIndex ? Math.min(1, refreshes) : refreshes + 1;
}

/** What the chunks of a step take that are computed at the same time. */
function stepBytes(run: Run, model: number): number {
  const { questions, candidatesPerQuestion, maxPassageTokens } = run.batch;
  const { workers } = run.device;
  const tokens = questions * candidatesPerQuestion * maxPassageTokens;
  const isRead = run.objective.objective !== "retrieval";
  const chunk = chunkBytes(run.config, { trained: run.trained.names, isRead, tokens });
  const isParallel = workers > 1 && !isOneChunk(isRead, tokens);
  return isParallel ? workers * workerBytes(model, chunk) : chunk;
}

/** The states that a run holds because the layers below them do not change. */
function heldBytes(run: Run, passages: number, lengths: MeanLengths): number {
  const { config, trained, batch } = run;
  const isRead = run.objective.objective !== "retrieval";
  if (heldLayers(config, trained.names, isRead) === undefined) return 0;
  const questions = run.schedule.iterations * run.schedule.steps * batch.questions;
  const read = Math.min(passages, questions * batch.candidatesPerQuestion);
  return heldStatesBytes(config, read * lengths.passage + questions * lengths.question);
}

function sizesOf(
  run: Run,
  passages: number,
  lengths: MeanLengths,
  { parameters }: Work,
): { memoryBytes: number; diskBytes: number } {
  const { config } = run;
  const { refresh, steps } = run.schedule;
  const { questions, candidatesPerQuestion } = run.batch;
  const model = parameters * FLOAT_BYTES;
  const held = Math.min(passages, steps * questions * candidatesPerQuestion) * lengths.characters;
  const keys = config.retrievalAttention.pooling === undefined ? lengths.indexed : 1;
  const index = passages * (keys * vectorSize(config) * FLOAT_BYTES + lengths.characters);
  const searched = Math.min(1, refreshesOf(run));
  const process = refresh === "background" ? BASE_BYTES + model : 0;
  const states = heldBytes(run, passages, lengths);
  const step = stepBytes(run, model) + states;
  return {
    // 7 models: value, gradient, two moments, gradients of a chunk, and the measured model's
    // encoder and reader
    memoryBytes: BASE_BYTES + 7 * model + step + 2 * held + process,
    // 6 of a checkpoint that replaces another, the best weights, the saved model, the measured
    // model, and the model that finds candidates
    diskBytes: (6 + 3 + searched) * model + (searched + (run.keepsIndex ? 0 : 1)) * index,
  };
}
