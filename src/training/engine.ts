/** What trains: one step at a time, over parameters that it holds. */

import type { ModelConfig } from "../config.ts";
import type { CompileOptions } from "../tensor/session.ts";
import type { Candidates, TokenExample } from "./batch.ts";
import { type BatchLosses, openGradientAccumulator } from "./gradient-accumulator.ts";
import { type OptimizerOptions, openOptimizer, type ParameterState } from "./optimizer.ts";
import type { ObjectiveOptions } from "./signatures.ts";

export interface EngineOptions extends ObjectiveOptions, OptimizerOptions {
  readonly candidates: Candidates;
  /** Share of numbers that dropout sets to 0. */
  readonly dropout: number;
}

export interface StepLosses extends BatchLosses {
  /** Global norm of the gradients before clipping. */
  readonly gradientNorm: number;
}

export interface TrainingEngine extends AsyncDisposable {
  /** Read between steps; written only by `step`. */
  readonly parameters: ReadonlyMap<string, ParameterState>;
  /**
   * Computes the losses of a batch, whose examples have equally many passages, and moves the parameters against their
   * gradients, unless the loss or its gradient is not finite. `step` counts from 1; `key` determines the dropout.
   */
  step(
    examples: readonly TokenExample[],
    step: number,
    learningRate: number,
    key: string,
  ): Promise<StepLosses>;
}

/**
 * Tokens of the pairs of a chunk: their states, 4 kB a token between two operations, stay in a cache of 16 MB. Half of it
 * and double of it were as fast, all at once a third slower (docs/TRAINING.md).
 */
const CHUNK_TOKENS = 2_500;

/** Trains on onnxruntime. Takes over the states in `parameters`. */
export async function openOnnxEngine(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  options: EngineOptions,
  compileOptions: CompileOptions,
): Promise<TrainingEngine> {
  const optimizer = await openOptimizer(parameters, options, compileOptions);
  const accumulator = openGradientAccumulator(config, parameters, options, compileOptions);
  return {
    parameters,
    async step(examples, step, learningRate, key) {
      for (const { gradient } of parameters.values()) gradient.fill(0);
      const losses = await accumulator.add(examples, chunkQuestions(examples), [key, step]);
      const gradientNorm = await optimizer.norm();
      if (Number.isFinite(losses.loss) && Number.isFinite(gradientNorm))
        await optimizer.update(step, learningRate, gradientNorm);
      return { ...losses, gradientNorm };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([accumulator[Symbol.asyncDispose](), optimizer[Symbol.asyncDispose]()]);
    },
  };
}

/** As many questions as have about `CHUNK_TOKENS` tokens, of the divisors of the batch: one graph then serves all chunks. */
function chunkQuestions(examples: readonly TokenExample[]): number {
  const tokens = examples.map(({ question, passages }) =>
    passages.reduce((sum, passage) => sum + question.length + passage.length, 0),
  );
  const mean = tokens.reduce((sum, count) => sum + count, 0) / examples.length;
  const divisors = examples.map((_, i) => i + 1).filter((size) => examples.length % size === 0);
  return divisors.findLast((size) => size * mean <= CHUNK_TOKENS) ?? 1;
}
