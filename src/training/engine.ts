/** What trains: one step at a time, over parameters that it holds. */

import type { ModelConfig } from "../config.ts";
import type { CompileOptions } from "../tensor/session.ts";
import { buildParameters } from "../weights/names.ts";
import type { Candidates, TokenExample } from "./batch.ts";
import { type BatchLosses, openGradientAccumulator } from "./gradient-accumulator.ts";
import { type OptimizerOptions, openOptimizer, type ParameterState } from "./optimizer.ts";
import type { ObjectiveOptions } from "./signatures.ts";

export interface EngineOptions extends ObjectiveOptions, OptimizerOptions {
  readonly candidates: Candidates;
  /** Share of numbers that dropout sets to 0. */
  readonly dropout: number;
  /** Train the query projection of the retrieval head and nothing else. */
  readonly querySide?: boolean | undefined;
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
export const CHUNK_TOKENS = 2_500;

/** Trains on onnxruntime. Takes over the states in `parameters`. */
export async function openOnnxEngine(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  options: EngineOptions,
  compileOptions: CompileOptions,
): Promise<TrainingEngine> {
  const side = options.querySide ? querySide(config, parameters) : undefined;
  const optimizer = side
    ? await openOptimizer(side.trained, { ...options, weightDecay: 0 }, compileOptions)
    : await openOptimizer(parameters, options, compileOptions);
  const trained = side && new Set(side.trained.keys());
  const accumulator = openGradientAccumulator(config, parameters, { ...options, trained }, compileOptions);
  return {
    parameters,
    async step(examples, step, learningRate, key) {
      for (const { gradient } of parameters.values()) gradient.fill(0);
      const losses = await accumulator.add(examples, chunkQuestions(examples), [key, step]);
      side?.clearOtherHeads();
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

/**
 * The query projection of the retrieval head: rows of a matrix, the others of which are kept as they are by a gradient of
 * zero. No key depends on them, so an index stays good (fingerprint.ts). Source: DensePhrases (Lee et al. 2021), section 6.
 */
function querySide(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
): { trained: Map<string, ParameterState>; clearOtherHeads: () => void } {
  const name = buildParameters(config, (name) => name).encoder.blocks[config.retrievalLayer]!.attention.query;
  const state = parameters.get(name)!;
  const numbers = config.headSize * config.modelSize;
  const start = config.retrievalHead * numbers;
  return {
    trained: new Map([[name, state]]),
    clearOtherHeads: () => state.gradient.fill(0, 0, start).fill(0, start + numbers),
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
