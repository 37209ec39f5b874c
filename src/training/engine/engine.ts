/** What trains: one step at a time, over parameters that it holds. */

import type { ModelConfig } from "../../model/config.ts";
import { type BatchLosses, gradientAccumulator } from "../gradient-cache/gradient-accumulator.ts";
import type { TokenExample } from "../loss/batch.ts";
import type { ObjectiveName } from "../loss/graph-inputs.ts";
import { ownOf } from "../loss/trained-parameters.ts";
import type { Backend, BackendOptions } from "./backend.ts";
import type { ParameterState } from "./optimizer.ts";

export interface EngineOptions extends BackendOptions {
  readonly inBatchNegatives: boolean;
}

export interface StepLosses extends BatchLosses {
  /** Global norm of the gradients before clipping. */
  readonly gradientNorm: number;
}

export interface TrainingStep {
  /** All have equally many passages. */
  readonly examples: readonly TokenExample[];
  readonly objective: ObjectiveName;
  /** Counts from 1. */
  readonly step: number;
  readonly learningRate: number;
  /** With `step`, determines the dropout. */
  readonly key: string;
}

export interface TrainingEngine extends AsyncDisposable {
  /** All parameters as they are now, to be read until the next step. */
  parameters(): Promise<ReadonlyMap<string, ParameterState>>;
  /** The objective's own parameters, likewise. */
  ownParameters(): Promise<ReadonlyMap<string, ParameterState>>;
  /**
   * Computes the losses of a batch, and moves the parameters against their gradients, unless the loss or its gradient is not
   * finite.
   */
  step(step: TrainingStep): Promise<StepLosses>;
}

/**
 * Tokens of the pairs of a chunk: their states, 4 kB a token between two operations, stay in a cache of 16 MB. Half of it
 * and double of it were as fast, all at once a third slower (docs/TRAINING.md).
 */
export const CHUNK_TOKENS = 2_500;

/** Trains `parameters`, which `backend` was opened with and holds. */
export function trainingEngine(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  options: EngineOptions,
  backend: Backend,
): TrainingEngine {
  const { steps, optimizer } = backend;
  const accumulate = gradientAccumulator(config, steps, options);
  const own = ownOf(parameters);
  return {
    async parameters() {
      await backend.read(parameters.keys());
      return parameters;
    },
    async ownParameters() {
      await backend.read(own.keys());
      return own;
    },
    async step({ examples, objective, step, learningRate, key }) {
      backend.clearGradients();
      const losses = await accumulate({
        ...{ examples, objective },
        chunkQuestions: chunkQuestions(examples),
        key: [key, step],
      });
      const norm = await optimizer.norm();
      if (Number.isFinite(losses.loss) && Number.isFinite(norm))
        await optimizer.update({ step, rate: learningRate, norm });
      return { ...losses, gradientNorm: norm };
    },
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
  };
}

/** As many questions as have about `CHUNK_TOKENS` tokens, of the divisors of the batch: one graph then serves all chunks. */
export function chunkQuestions(examples: readonly TokenExample[]): number {
  const tokens = examples.map(({ question, passages }) =>
    passages.reduce((sum, passage) => sum + question.length + passage.length, 0),
  );
  const mean = tokens.reduce((sum, count) => sum + count, 0) / examples.length;
  const divisors = examples.map((_, i) => i + 1).filter((size) => examples.length % size === 0);
  return divisors.findLast((size) => size * mean <= CHUNK_TOKENS) ?? 1;
}
