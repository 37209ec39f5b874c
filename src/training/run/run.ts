/**
 * A training run, decided once: what is trained, on what, how long and where. `resolveRun` makes it
 * of the options, the model and the corpus; everything below reads it and no option.
 */

import { checkPositions, type ModelConfig } from "../../model/config.ts";
import type { Provider } from "../../tensor/session.ts";
import { checkCandidateCount } from "../examples/candidates.ts";
import type { ObjectiveName } from "../loss/options.ts";
import type { RunRequest } from "../options/run-options.ts";
import {
  defaultPart,
  keepsKeys,
  type Part,
  type Trained,
  trainedParameters,
} from "../options/trained.ts";
import { trainedConfig } from "./trained-config.ts";

/** What a step minimises. See the options of the same names. */
export interface RunObjective {
  readonly objective: ObjectiveName;
  readonly alpha: number;
  readonly copyAttention: number;
  readonly phraseLoss: number;
  readonly inBatchNegatives: boolean;
  readonly scoreTemperature: number;
}

/** What the examples of a step are. */
export interface RunBatch {
  readonly questions: number;
  readonly candidatesPerQuestion: number;
  /** Whether one of the candidates is an empty passage (REALM, section 3.3). */
  readonly nullPassage: boolean;
  readonly preBatch: number;
  readonly maxPassageTokens: number;
  readonly maxAnswerTokens: number;
}

export interface RunSchedule {
  /** Steps of span corruption before the first iteration; 0 for a model with weights. */
  readonly unsupervisedSteps: number;
  readonly iterations: number;
  readonly steps: number;
  readonly qaSteps: number;
  readonly learningRate: number;
  readonly warmUp: number;
  readonly refresh: RunRequest["refresh"];
  readonly refreshSteps: number;
}

export interface RunOptimizer {
  readonly weightDecay: number;
  readonly clipNorm: number;
  readonly dropout: number;
}

export interface RunDevice {
  readonly engine: RunRequest["engine"];
  readonly workers: number;
  readonly provider: Provider;
}

/** The questions on which the run measures the model. */
export interface RunMeasurements {
  /** A file of questions; undefined without one. */
  readonly dev: string | undefined;
  readonly devQuestions: number;
}

export interface Run {
  /** Folder of the model that training starts from. */
  readonly model: string;
  /** Configuration of the trained model. */
  readonly config: ModelConfig;
  readonly out: string;
  readonly resume: boolean;
  /** The part of the model that `trained` has the names of. */
  readonly part: Part;
  readonly layers: number | undefined;
  readonly trained: Trained;
  /** Whether an index of the model that training starts from remains valid. */
  readonly keepsIndex: boolean;
  /** Temperature of the head weights; undefined if one head retrieves. */
  readonly tau: number | undefined;
  readonly objective: RunObjective;
  readonly batch: RunBatch;
  readonly schedule: RunSchedule;
  readonly optimizer: RunOptimizer;
  readonly device: RunDevice;
  readonly measurements: RunMeasurements;
  readonly seed: number;
  readonly signal: AbortSignal | undefined;
}

/** What a run starts from. */
export interface StartingModel {
  /** Configuration in the folder `model` of the options. */
  readonly config: ModelConfig;
  readonly hasWeights: boolean;
  /** Whether the configuration names the head that retrieves. */
  readonly namesHead: boolean;
}

/**
 * Decides everything that options, model and corpus determine.
 *
 * @throws {InputError} if the model cannot be trained so, or the corpus has too few passages
 */
export function resolveRun(
  options: RunRequest,
  start: StartingModel,
  corpus: { readonly size: number },
): Run {
  const { model, out, resume, layers, seed, signal } = options;
  const part = options.train ?? defaultPart(options.objective);
  const config = trainedConfig(start.config, { ...options, part });
  const tau =
    options.tau ?? (isHeadLearned(start, part, config) ? config.distillationTau : undefined);
  const trained = trainedParameters(config, { part, layers, objective: options.objective, tau });
  checkPositions(config, options.maxPassageTokens);
  const nullPassage = options.objective === "marginal";
  checkCandidateCount(options.candidatesPerQuestion - Number(nullPassage), corpus.size);
  // Span corruption trains the reader, which the objective retrieval leaves as it is.
  const isCorrupted = !start.hasWeights && options.objective !== "retrieval";
  return {
    ...{ model, config, out, resume, part, layers, trained, tau, seed, signal },
    keepsIndex: keepsKeys(config, trained),
    objective: objectiveOf(options),
    batch: {
      questions: options.questions,
      candidatesPerQuestion: options.candidatesPerQuestion,
      nullPassage,
      preBatch: options.preBatch,
      maxPassageTokens: options.maxPassageTokens,
      maxAnswerTokens: options.maxAnswerTokens,
    },
    schedule: {
      unsupervisedSteps: isCorrupted ? (options.unsupervisedSteps ?? 0) : 0,
      iterations: options.iterations,
      steps: options.steps,
      qaSteps: options.qaSteps,
      learningRate: options.learningRate,
      warmUp: options.warmUp,
      refresh: options.refresh,
      refreshSteps: options.refreshSteps,
    },
    optimizer: {
      weightDecay: options.weightDecay,
      clipNorm: options.clipNorm,
      dropout: options.dropout ?? config.dropoutRate,
    },
    device: { engine: options.engine, workers: options.workers, provider: options.provider },
    measurements: { dev: options.dev, devQuestions: options.devQuestions },
  };
}

const objectiveOf = (options: RunRequest): RunObjective => ({
  objective: options.objective,
  alpha: options.alpha,
  copyAttention: options.copyAttention,
  phraseLoss: options.phraseLoss,
  inBatchNegatives: options.inBatchNegatives,
  scoreTemperature: options.scoreTemperature,
});

/** Whether training finds the head: the model has learned, but nobody said which head retrieves. */
const isHeadLearned = (
  { hasWeights, namesHead }: StartingModel,
  part: Part,
  { pooling }: ModelConfig,
): boolean =>
  hasWeights && !namesHead && pooling === undefined && (part === "all" || part === "retrieval");

/** The run with another number of steps. */
export const withSteps = <R extends Run>(run: R, steps: number): R => ({
  ...run,
  schedule: { ...run.schedule, steps },
});
