/** The training engine: one step at a time, on parameters that it holds. */

import type { ModelConfig } from "../../model/config.ts";
import { chunkQuestions } from "../gradient-cache/chunk-size.ts";
import { gradientAccumulator } from "../gradient-cache/gradient-cache.ts";
import type { PreBatchQueue, StepKeys } from "../gradient-cache/pre-batch.ts";
import { isRead } from "../objectives/forward.ts";
import { needsOf, type Objective } from "../objectives/objective.ts";
import type { GradientPasses, LossValues, StepSettings } from "../objectives/passes.ts";
import type { TokenExample } from "../objectives/token-batch.ts";
import { selectLearnedScalars } from "../objectives/trained-parameters.ts";
import type { HeldStates } from "./held-states.ts";
import type { HeldTeacher } from "./held-teacher.ts";
import type { Optimizer, OptimizerOptions, ParameterState } from "./optimizer.ts";

/** The loss of a step, before it, and its terms by name. */
export interface StepLosses extends LossValues {
  /** Global norm of the gradients before clipping, without the head weights. */
  readonly gradientNorm: number;
}

export interface TrainingStep {
  readonly examples: readonly TokenExample[];
  /** The loss is the weighted sum of their terms. */
  readonly objectives: readonly Objective[];
  /** Counts from 1. */
  readonly step: number;
  readonly learningRate: number;
  /** Determines the dropout, together with `step`. */
  readonly key: string;
  /** Number of steps before this one whose passages are negatives. Default 0. */
  readonly preBatch?: number | undefined;
}

export interface TrainingEngine extends AsyncDisposable {
  /** The current states of all parameters, valid until the next step. */
  parameters(): Promise<ReadonlyMap<string, ParameterState>>;
  /** The current states of the head weights and the log scale, valid until the next step. */
  learnedScalars(): Promise<ReadonlyMap<string, ParameterState>>;
  /**
   * Computes the loss of a batch and updates the parameters. The parameters stay unchanged if the
   * loss or the gradient is not finite.
   */
  step(step: TrainingStep): Promise<StepLosses>;
  /** Sets the parameters to `values`, by name, and the moments of the optimiser to 0. */
  restart(values: ReadonlyMap<string, Float32Array>): Promise<void>;
}

/** What an engine can have beside its backend. */
export interface EngineParts {
  /** Steps add their keys to it. */
  readonly queue?: PreBatchQueue | undefined;
  /** For runs that leave layers as they are. */
  readonly heldStates?: HeldStates | undefined;
  /** For runs that leave what reads as it is. */
  readonly teacher?: HeldTeacher | undefined;
}

/** Trains `parameters`, the states that `backend` was opened with. */
export function trainingEngine(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  settings: EngineSettings,
  backend: Backend,
  { queue, heldStates, teacher }: EngineParts = {},
): TrainingEngine {
  const { passes, optimizer } = backend;
  const accumulate = gradientAccumulator(config, passes, settings, {
    states: heldStates,
    teacher,
  });
  const scalars = selectLearnedScalars(parameters);
  return {
    async parameters() {
      await backend.read(parameters.keys());
      return parameters;
    },
    async learnedScalars() {
      await backend.read(scalars.keys());
      return scalars;
    },
    async step({ examples, objectives, step, learningRate, key, preBatch = 0 }) {
      backend.clearGradients();
      const earlier = queue?.entries.filter((entry) => entry.step >= step - preBatch);
      const onKeys = queue && ((keys: Omit<StepKeys, "step">) => queue.add({ step, ...keys }));
      const { loss, terms } = await accumulate({
        examples,
        objectives,
        earlier,
        onKeys,
        // The same with a held teacher: larger chunks took 11 GB in place of 3.
        chunkQuestions: chunkQuestions(examples, isRead(needsOf(objectives))),
        key: [key, step],
      });
      const norms = await optimizer.gradientNorms();
      if ([loss, norms.main, norms.apart].every(Number.isFinite))
        await optimizer.update({ step, learningRate, norms });
      return { loss, terms, gradientNorm: norms.main };
    },
    async restart(values) {
      for (const [name, { value, firstMoment, secondMoment }] of parameters) {
        value.set(values.get(name)!);
        firstMoment.fill(0);
        secondMoment.fill(0);
      }
      await backend.write();
    },
    async [Symbol.asyncDispose]() {
      await teacher?.[Symbol.asyncDispose]();
      await heldStates?.[Symbol.asyncDispose]();
      await backend[Symbol.asyncDispose]();
    },
  };
}

export type EngineSettings = StepSettings & OptimizerOptions;

export interface Backend extends AsyncDisposable {
  readonly passes: GradientPasses;
  readonly optimizer: Optimizer;
  /** Sets all sums of gradients to 0. */
  clearGradients(): void;
  /** Updates the states that the backend was opened with, for the parameters of these names. */
  read(names: Iterable<string>): Promise<void>;
  /** Takes the states that the backend was opened with, which the caller has changed. */
  write(): Promise<void>;
}
