/** The loss of one batch of texts with the gradient of every parameter, as references give them. */

import { join } from "node:path";
import { headLayer, type ModelConfig } from "../../src/model/config.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import type { Tensor } from "../../src/tensor/ops.ts";
import { loadTokenizer } from "../../src/text/tokens/tokenizer.ts";
import { onnxPasses, openGraphRunner } from "../../src/training/engine/onnx-passes.ts";
import { type ParameterState, parameterState } from "../../src/training/engine/optimizer.ts";
import { type TextBatch, tokenExamples } from "../../src/training/engine/text-batch.ts";
import { gradientAccumulator } from "../../src/training/gradient-cache/gradient-cache.ts";
import { distillation } from "../../src/training/objectives/distillation.ts";
import { defineObjective, type Objective } from "../../src/training/objectives/objective.ts";
import { reading } from "../../src/training/objectives/reading.ts";
import { passageName } from "../../src/training/objectives/token-batch.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../../src/training/objectives/trained-parameters.ts";

export interface LossOptions {
  /** Weight of the cross-document adjustment loss. */
  readonly alpha: number;
  /** Temperature of `headWeights`. */
  readonly tau: number;
  /** One for each head of the retrieval layer. */
  readonly headWeights: readonly number[];
  /** Natural logarithm of the factor of retrieval scores. */
  readonly logScale: number;
  readonly maxPassageTokens: number;
}

export interface LossAndGradients {
  /** Negative log likelihood, averaged over answer tokens, in nats. */
  readonly nll: number;
  /** KL(target attention || retrieval distribution), averaged over questions, in nats. */
  readonly kl: number;
  /** `nll + alpha kl` */
  readonly loss: number;
  /** [questions][passages of the question] */
  readonly target: readonly (readonly number[])[];
  /** [questions][different passages of the chunk]: before the factor `exp(logScale)` */
  readonly scores: readonly (readonly number[])[];
  /** By the names of `model/parameter-names.ts`, and `log_scale` and `head_weights`. */
  readonly gradients: Map<string, Float32Array>;
}

/** @param chunkQuestions questions that the gradient cache computes together */
export async function lossAndGradients(
  folder: string,
  batch: TextBatch,
  options: LossOptions,
  chunkQuestions: number,
): Promise<LossAndGradients> {
  const { alpha, tau, maxPassageTokens } = options;
  const config = await readConfig(folder);
  const tokenizer = await loadTokenizer(join(folder, "spiece.model"), config);
  const parameters = await parameterStates(folder, config, options);
  const trained = { names: new Set(parameters.keys()), rows: new Map() };
  const settings = { trained, tau, dropout: 0 };
  await using runner = openGraphRunner(parameters, {});
  const passes = onnxPasses(config, parameters, settings, runner);
  const { loss, terms, watched } = await gradientAccumulator(
    config,
    passes,
    settings,
  )({
    examples: tokenExamples(tokenizer, batch, maxPassageTokens),
    chunkQuestions,
    objectives: [reading(), countingCopies(distillation({ alpha }))],
    key: [0],
    watched: ["attention", "scores"],
  });
  return {
    loss,
    nll: terms.nll!,
    kl: terms.kl!,
    target: rowsOf(watched.attention),
    scores: rowsOf(watched.scores),
    gradients: new Map([...parameters].map(([name, { gradient }]) => [name, gradient])),
  };
}

/**
 * The objective with each passage in the softmax as often as questions of the batch have it, as the
 * code of the paper does: log(count) is added to the logits.
 */
export const countingCopies = (objective: Objective): Objective =>
  defineObjective({
    ...objective,
    inputs(batch) {
      const { bias, ...others } = objective.inputs(batch);
      const counts = new Map<string, number>();
      for (const name of batch.whole.flatMap(({ passages }) => passages.map(passageName)))
        counts.set(name, (counts.get(name) ?? 0) + 1);
      for (let i = 0; i < bias!.data.length; i++)
        bias!.data[i]! += Math.log(counts.get(batch.names[i % batch.names.length]!)!);
      return { bias: bias!, ...others };
    },
  });

/** The rows of the tensors of all chunks. */
const rowsOf = (tensors: readonly Tensor[] = []): number[][] =>
  tensors.flatMap(({ data, shape }) => {
    const [rows, columns] = shape as [number, number];
    return Array.from({ length: rows }, (_, row) => [
      ...data.subarray(row * columns, (row + 1) * columns),
    ]);
  });

async function parameterStates(
  folder: string,
  config: ModelConfig,
  { headWeights, logScale }: LossOptions,
): Promise<Map<string, ParameterState>> {
  const weights = await loadWeights(folder, config);
  const states = new Map<string, ParameterState>();
  for (const [name, shape] of parameterShapes(config))
    states.set(name, parameterState(shape, weights.get(name)!));
  states.set(LOG_SCALE, parameterState([], Float32Array.of(logScale)));
  states.set(
    HEAD_WEIGHTS,
    parameterState([headLayer(config).heads], Float32Array.from(headWeights)),
  );
  return states;
}
