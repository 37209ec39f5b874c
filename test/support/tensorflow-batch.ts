/** A whole batch by the steps of src/training/tensorflow-steps.ts, without dropout. */

import * as assert from "uvu/assert";
import type { ModelConfig } from "../../src/config.ts";
import type { Tensor } from "../../src/tensor/ops.ts";
import { loadTensorFlow } from "../../src/tensor/tensorflow/load.ts";
import { chunksOf, type TokenExample } from "../../src/training/batch.ts";
import { divideCompetition, joinChunks } from "../../src/training/exchange.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../../src/training/loss-graph.ts";
import type { CacheInput, CompetitionInput, ObjectiveOptions } from "../../src/training/signatures.ts";
import { type TensorFlowParameter, tensorFlowSteps } from "../../src/training/tensorflow-steps.ts";
import { parameterShapes } from "../../src/weights/names.ts";

const { tf } = await loadTensorFlow();

/** Parameters by name: numbers with a shape. */
export type Values = ReadonlyMap<string, Tensor>;

type Tensors = Record<string, Tensor>;

export interface TensorFlowBatch {
  readonly nll: number;
  /** 0 where retrieval is not distilled */
  readonly kl: number;
  /** Of each chunk, what `TensorFlowSteps.objective` returns. */
  readonly losses: readonly Tensors[];
  readonly gradients: ReadonlyMap<string, Float32Array>;
}

/** Losses and gradients on TensorFlow.js of a batch in chunks of so many questions. */
export async function onTensorFlow(
  config: ModelConfig,
  values: Values,
  options: ObjectiveOptions,
  examples: readonly TokenExample[],
  chunkQuestions: number,
): Promise<TensorFlowBatch> {
  const parameters = new Map<string, TensorFlowParameter>();
  for (const [name, { data, shape }] of values)
    tf.tidy(() => {
      const value = tf.tensor(data, [...shape]);
      parameters.set(name, { value: tf.variable(value), gradient: tf.variable(tf.zerosLike(value)) });
    });
  const steps = tensorFlowSteps(tf, config, parameters, options);
  const chunks = chunksOf(config, examples, chunkQuestions, "batch");
  const noDropout = <T>(x: T): T => x;
  const before = tf.memory().numTensors;
  let caches: Tensors[] = [];
  if (chunks.length > 1 && options.objective === "distillation") {
    const vectors: Tensors[] = [];
    for (const { tensors } of chunks) vectors.push(await steps.vectors(tensors, noDropout));
    const joined = joinChunks(chunks, vectors) as Record<CompetitionInput, Tensor>;
    caches = divideCompetition(chunks, await steps.competition(joined));
  }
  const losses: Tensors[] = [];
  for (const [i, { tensors }] of chunks.entries()) {
    const cache = caches[i] as Record<CacheInput, Tensor> | undefined;
    losses.push(await steps.objective(tensors, noDropout, cache));
  }
  assert.is(tf.memory().numTensors, before, "tensors that are left");

  const total = (name: string) => losses.reduce((sum, chunk) => sum + (chunk[name]?.data[0] ?? 0), 0);
  const gradients = new Map<string, Float32Array>();
  for (const [name, { gradient }] of parameters) gradients.set(name, (await gradient.data()) as Float32Array);
  tf.disposeVariables();
  return { nll: total("nll"), kl: total("kl"), losses, gradients };
}

/** Weights with the objective's own parameters. */
export function withOwn(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
  headWeights: readonly number[] | undefined,
  logScale: number,
): Values {
  const values = new Map<string, Tensor>();
  for (const [name, shape] of parameterShapes(config)) values.set(name, { data: weights.get(name)!, shape });
  values.set(LOG_SCALE, { data: Float32Array.of(logScale), shape: [] });
  if (headWeights)
    values.set(HEAD_WEIGHTS, { data: Float32Array.from(headWeights), shape: [headWeights.length] });
  return values;
}
