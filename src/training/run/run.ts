/**
 * A training run, decided once: what is trained, on what, how long and where. `resolveRun` makes it
 * of the options, the model and the corpus; everything below reads it and no option.
 */

import { createHash } from "node:crypto";
import { checkPositions, type ModelConfig, retrievalHead } from "../../model/config.ts";
import { type Resolved, valuesOf } from "../../options/option.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import { checkCandidateCount } from "../examples/candidates.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { TrainingData } from "../examples/training-data.ts";
import type { CandidateSettings } from "../examples/with-candidates.ts";
import type { Measure } from "../measures/measure.ts";
import { keepsKeys, keepsReading, type Trained } from "../objectives/trained-parameters.ts";
import {
  BATCH_SETTINGS,
  DEVICE_SETTINGS,
  OBJECTIVE_SETTINGS,
  OPTIMIZER_SETTINGS,
  type RunRequest,
  SCHEDULE_SETTINGS,
} from "../options/run-options.ts";
import { defaultPart, type Part, trainedParameters } from "../options/trained.ts";
import { partEntry, type RunPlan } from "./checkpoint.ts";
import { runFolder } from "./run-folder.ts";
import { haveSameVectors, trainedConfig } from "./trained-config.ts";

/** `nullPassage` is true only where the objective has a null passage. */
export type RunBatch = Resolved<typeof BATCH_SETTINGS>;

export interface RunOptimizer extends Resolved<typeof OPTIMIZER_SETTINGS> {
  readonly dropout: number;
}

/** The groups have the options of the same names. */
export interface Run {
  /** Folder of the model that training starts from. */
  readonly model: string;
  /** Configuration of the trained model. */
  readonly config: ModelConfig;
  /** Folder of the trained model. */
  readonly out: string;
  /** Folder of everything else: see `runFolder`. */
  readonly folder: string;
  readonly resume: boolean;
  /** The part of the model that `trained` has the names of. */
  readonly part: Part;
  readonly layers: number | undefined;
  readonly trained: Trained;
  /** Whether an index of the model that training starts from remains valid. */
  readonly keepsIndex: boolean;
  /** Whether the trained model makes vectors of another kind than the one it starts from. */
  readonly changesVectors: boolean;
  /**
   * Whether the mean of the weights before and after is measured and saved: see `keptParameters`.
   */
  readonly average: boolean;
  /** Temperature of the head weights; undefined if one head retrieves. */
  readonly tau: number | undefined;
  readonly objective: Resolved<typeof OBJECTIVE_SETTINGS>;
  readonly batch: RunBatch;
  readonly schedule: Resolved<typeof SCHEDULE_SETTINGS>;
  readonly optimizer: RunOptimizer;
  readonly device: Resolved<typeof DEVICE_SETTINGS>;
  /** Minutes that everything may take. Undefined: no limit. */
  readonly minutes: number | undefined;
  /** A file of questions on which the model is measured, and how many of them. */
  readonly measurements: {
    readonly dev: string | undefined;
    readonly devQuestions: number;
    /** Measures of one's own on them. */
    readonly own: readonly Measure[];
    /** The most passages that held-out examples are searched among. Undefined: no limit. */
    readonly passages: number | undefined;
    /** Steps between two measurements of them. */
    readonly every: number;
    /** Measurements after the best model that end the run. Undefined: the schedule ends it. */
    readonly patience: number | undefined;
  };
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
  const nullPassage = options.objective === "marginal" && options.nullPassage;
  checkCandidateCount(options.candidatesPerQuestion - Number(nullPassage), corpus.size);
  return {
    model,
    config,
    out,
    folder: runFolder(out),
    resume,
    part,
    layers,
    trained,
    tau,
    seed,
    signal,
    keepsIndex: keepsKeys(config, trained),
    changesVectors: !haveSameVectors(start.config.retrievalAttention, config.retrievalAttention),
    average: false,
    objective: valuesOf(OBJECTIVE_SETTINGS, options),
    batch: { ...valuesOf(BATCH_SETTINGS, options), nullPassage },
    schedule: valuesOf(SCHEDULE_SETTINGS, options),
    optimizer: {
      ...valuesOf(OPTIMIZER_SETTINGS, options),
      dropout: options.dropout ?? config.dropoutRate,
    },
    device: valuesOf(DEVICE_SETTINGS, options),
    minutes: options.minutes,
    measurements: {
      dev: options.dev,
      devQuestions: options.devQuestions,
      own: options.measures ?? [],
      passages: undefined,
      every: options.monitorSteps ?? options.steps,
      patience: options.patience,
    },
  };
}

/** Whether training finds the head: the model has learned, but nobody said which head retrieves. */
const isHeadLearned = (
  { hasWeights, namesHead }: StartingModel,
  part: Part,
  { retrievalAttention: { pooling } }: ModelConfig,
): boolean =>
  hasWeights && !namesHead && pooling === undefined && (part === "all" || part === "retrieval");

/** Whether the run trains weights that reading given passages depends on. */
export const changesReading = ({ config, trained }: Run): boolean => !keepsReading(config, trained);

/** Whether the model has calibrations that the run fits anew, as far as it has questions. */
export const refitsCalibration = (run: Run): boolean =>
  changesReading(run) && (run.config.calibration ?? run.config.blockCalibration) !== undefined;

/** The decisions of a run by the names of their options, without files and without the device. */
export function decisionsOf(run: Run): RunPlan {
  const { part, layers, tau, average, seed, config, measurements } = run;
  const { engine } = run.device;
  const { pooling, similarity } = config.retrievalAttention;
  const all = {
    train: part,
    layers,
    ...run.objective,
    ...run.batch,
    ...run.schedule,
    ...run.optimizer,
    tau,
    average: average || undefined,
    measuredPassages: measurements.passages,
    seed,
    engine,
    retrievalHead: retrievalHead(config),
    pooling,
    similarity,
  };
  const entries = Object.entries(all).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as RunPlan;
}

/**
 * The plan of a run. An error names the first entry that differs, so decisions come before digests,
 * and those of the corpus and of each source before that of all data.
 *
 * @param parameters the parameters at the start of the run
 */
export const planOf = (
  run: Run,
  parameters: ReadonlyMap<string, ParameterState>,
  { digest, parts = [] }: Pick<TrainingData, "digest" | "parts">,
  corpus: Pick<Corpus, "digest">,
): RunPlan => ({
  ...decisionsOf(run),
  corpus: corpus.digest,
  ...Object.fromEntries(parts.map((part) => [partEntry(part.name), part.digest])),
  data: digest,
  model: digestParameters(parameters),
});

/** Where the contents of the entries of a plan are, for an error that names one. */
export const filesOfPlan = (
  { parts = [] }: Pick<TrainingData, "parts">,
  corpus: Pick<Corpus, "file">,
): Record<string, string> => ({
  corpus: corpus.file,
  ...Object.fromEntries(parts.map(({ name, file }) => [partEntry(name), `${file}, ${name}`])),
});

function digestParameters(parameters: ReadonlyMap<string, ParameterState>): string {
  const hash = createHash("sha256");
  for (const [name, { value }] of parameters) hash.update(name).update(value);
  return hash.digest("hex");
}

export const candidateSettings = (run: Run): CandidateSettings => {
  const { folder, resume, seed, signal } = run;
  const { steps } = run.schedule;
  const { objective } = run.objective;
  return {
    ...run.batch,
    folder,
    resume,
    seed,
    signal,
    steps,
    learnsReading: objective !== "retrieval",
    generatesLabels: objective !== "likelihood",
    learnsRelevance: objective !== "qa" && objective !== "marginal",
  };
};
