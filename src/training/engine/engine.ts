/** The training engine: one step at a time, on parameters that it holds. */

import { mean } from "../../math/mean.ts";
import type { ModelConfig } from "../../model/config.ts";
import type { BatchLosses } from "../gradient-cache/batch-losses.ts";
import { gradientAccumulator } from "../gradient-cache/gradient-cache.ts";
import type { PreBatchQueue, StepKeys } from "../gradient-cache/pre-batch.ts";
import type { TokenExample } from "../loss/batch.ts";
import type { ObjectiveName } from "../loss/options.ts";
import { selectLearnedScalars } from "../loss/trained-parameters.ts";
import type { Backend, EngineOptions } from "./backend.ts";
import type { FixedStates } from "./fixed-states.ts";
import type { ParameterState } from "./optimizer.ts";

export interface StepLosses extends BatchLosses {
  /** Global norm of the gradients before clipping. */
  readonly gradientNorm: number;
}

export interface TrainingStep {
  readonly examples: readonly TokenExample[];
  readonly objective: ObjectiveName;
  /** Counts from 1. */
  readonly step: number;
  /** Updates since the moments were 0, with this one. Default: `step`. */
  readonly updates?: number | undefined;
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
   * Computes the losses of a batch and updates the parameters. The parameters stay unchanged if the
   * loss or the gradient is not finite.
   */
  step(step: TrainingStep): Promise<StepLosses>;
  /** Sets the parameters to `values`, by name, and the moments of the optimiser to 0. */
  restart(values: ReadonlyMap<string, Float32Array>): Promise<void>;
}

/**
 * Tokens of the (question, candidate) pairs of a chunk. Their states take 4 kB a token, so that
 * they stay in a processor cache of 16 MB between two operations. Half and twice the number are as
 * fast. The whole batch at once takes a third longer (docs/experiments/speed.md).
 */
export const CHUNK_TOKENS = 2_500;

/**
 * The same for the objective `retrieval`, which computes each token of a passage once. A batch of
 * one chunk runs the lower layers once instead of twice.
 */
export const RETRIEVAL_CHUNK_TOKENS = 16_000;

/** Whether a batch with this many tokens of questions and passages is one chunk. */
export const isOneChunk = (objective: ObjectiveName, tokens: number): boolean =>
  objective === "retrieval" && tokens <= RETRIEVAL_CHUNK_TOKENS;

/** What an engine can have beside its backend. */
export interface EngineParts {
  /** Steps add their keys to it. */
  readonly queue?: PreBatchQueue | undefined;
  /** For runs that leave layers as they are. */
  readonly fixedStates?: FixedStates | undefined;
  /** Chunks that the backend computes at the same time. Default 1. */
  readonly workers?: number | undefined;
}

/** Trains `parameters`, the states that `backend` was opened with. */
export function trainingEngine(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  options: EngineOptions,
  backend: Backend,
  { queue, fixedStates, workers = 1 }: EngineParts = {},
): TrainingEngine {
  const { passes, optimizer } = backend;
  const accumulate = gradientAccumulator(config, passes, options, fixedStates?.withStates);
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
    async step({ examples, objective, step, updates = step, learningRate, key, preBatch = 0 }) {
      backend.clearGradients();
      const earlier = queue?.entries.filter((entry) => entry.step >= step - preBatch);
      const onKeys = queue && ((keys: Omit<StepKeys, "step">) => queue.add({ step, ...keys }));
      const losses = await accumulate({
        ...{ examples, objective },
        chunkQuestions: chunkQuestions(examples, objective, workers),
        key: [key, step],
        ...{ earlier, onKeys },
      });
      const gradientNorm = await optimizer.gradientNorm();
      if (Number.isFinite(losses.loss) && Number.isFinite(gradientNorm))
        await optimizer.update({ step: updates, learningRate, gradientNorm });
      return { ...losses, gradientNorm };
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
      await fixedStates?.[Symbol.asyncDispose]();
      await backend[Symbol.asyncDispose]();
    },
  };
}

/**
 * Questions of a chunk: the largest divisor of the batch size whose chunks have at most
 * `CHUNK_TOKENS` or `RETRIEVAL_CHUNK_TOKENS` tokens on average. All chunks then have the same size
 * and share one graph. Several chunks are as many as the workers, or a multiple, where possible.
 */
export function chunkQuestions(
  examples: readonly TokenExample[],
  objective: ObjectiveName,
  workers: number,
): number {
  const limit = objective === "retrieval" ? RETRIEVAL_CHUNK_TOKENS : CHUNK_TOKENS;
  const tokens = examples.map(({ question, passages }) =>
    passages.reduce((sum, passage) => sum + question.length + passage.length, 0),
  );
  const perQuestion = mean(tokens);
  const divisors = examples.map((_, i) => i + 1).filter((size) => examples.length % size === 0);
  const fitting = divisors.filter((size) => size === 1 || size * perQuestion <= limit);
  const isEven = (size: number): boolean => (examples.length / size) % workers === 0;
  const largest = fitting.at(-1)!;
  return largest === examples.length ? largest : (fitting.findLast(isEven) ?? largest);
}
