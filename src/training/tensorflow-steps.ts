/**
 * The steps of the gradient cache (loss-graph.ts) on TensorFlow.js: the model's functions computed as they are said, and
 * differentiated by its own tape.
 */

import type { Tensor as TfTensor, Variable } from "@tensorflow/tfjs-core";
import type { ModelConfig } from "../config.ts";
import type { Tensor } from "../tensor/ops.ts";
import { outputsAndGradients } from "../tensor/tensorflow/gradients.ts";
import type { TensorFlow } from "../tensor/tensorflow/load.ts";
import { tensorFlowOps } from "../tensor/tensorflow/ops.ts";
import { buildParameters } from "../weights/names.ts";
import {
  chunkObjective,
  chunkVectors,
  competition,
  HEAD_WEIGHTS,
  LOG_SCALE,
  type TrainedParameters,
} from "./loss-graph.ts";
import type { CacheInput, ChunkInput, CompetitionInput, ObjectiveOptions } from "./signatures.ts";

type Tensors<Name extends string = string> = Record<Name, Tensor>;
type Dropout = (x: TfTensor) => TfTensor;

/** A parameter and the sum of its gradients. They stay where TensorFlow.js computes, and belong to the caller. */
export interface TensorFlowParameter {
  readonly value: Variable;
  readonly gradient: Variable;
}

export interface TensorFlowSteps {
  /** Step 1: `queries` and `keys`. */
  vectors(chunk: Tensors<ChunkInput>, dropout: Dropout): Promise<Tensors>;
  /** Step 2: `logNormaliser`, `queryGradient`, `keyGradient`; adds the gradients of the objective's own parameters. */
  competition(batch: Tensors<CompetitionInput>): Promise<Tensors>;
  /** Step 3: losses and what else `ChunkObjective` has; adds the gradients of all parameters. */
  objective(chunk: Tensors<ChunkInput>, dropout: Dropout, cache?: Tensors<CacheInput>): Promise<Tensors>;
}

/** For `parameters`, which are named as in the checkpoint, the objective's own among them. */
export function tensorFlowSteps(
  tf: TensorFlow,
  config: ModelConfig,
  parameters: ReadonlyMap<string, TensorFlowParameter>,
  options: ObjectiveOptions,
): TensorFlowSteps {
  const ops = tensorFlowOps(tf);
  const constants = <Name extends string>(tensors: Tensors<Name>): Record<Name, TfTensor> => {
    const entries = Object.entries<Tensor>(tensors).map(([name, tensor]) => [name, ops.constant(tensor)]);
    return Object.fromEntries(entries) as Record<Name, TfTensor>;
  };
  const value = (name: string): Variable => parameters.get(name)!.value;
  const trained: TrainedParameters<TfTensor> = {
    model: buildParameters<TfTensor>(config, value),
    headWeights: options.tau === undefined ? undefined : value(HEAD_WEIGHTS),
    logScale: value(LOG_SCALE),
  };
  const addGradient = (name: string, gradient: TfTensor, weight: number): void => {
    const sum = parameters.get(name)!.gradient;
    tf.tidy(() => sum.assign(tf.add(sum, tf.mul(gradient, weight))));
    gradient.dispose();
  };

  return {
    async vectors(chunk, dropout) {
      const scope = { ops, config, dropout };
      return readAll(tf.tidy(() => ({ ...chunkVectors(scope, trained, constants(chunk), options) })));
    },

    async competition(batch) {
      const variable = (tensor: Tensor): Variable => tf.tidy(() => tf.variable(ops.constant(tensor)));
      const [queries, keys] = [variable(batch.queries), variable(batch.keys)];
      const own = [HEAD_WEIGHTS, LOG_SCALE].filter((name) => parameters.has(name));
      const variables = new Map(own.map((name) => [name, value(name)]));
      const { outputs, gradients } = outputsAndGradients(
        tf,
        new Map([...variables, ["queries", queries], ["keys", keys]]),
        "average",
        () => ({ ...competition(ops, trained, { ...constants(batch), queries, keys }, options) }),
      );
      for (const name of own) addGradient(name, gradients.get(name)!, options.alpha);
      tf.dispose([queries, keys, outputs.average!]);
      return readAll({
        logNormaliser: outputs.logNormaliser!,
        queryGradient: gradients.get("queries")!,
        keyGradient: gradients.get("keys")!,
      });
    },

    async objective(chunk, dropout, cache) {
      const variables = new Map([...parameters.keys()].map((name) => [name, value(name)]));
      const { outputs, gradients } = outputsAndGradients(tf, variables, "objective", () => {
        const scope = { ops, config, dropout };
        const given = cache && constants(cache);
        const computed = chunkObjective(scope, trained, constants(chunk), options, given);
        const { objective, nll, retrieval, distillation } = computed;
        return { objective, nll, ...retrieval, ...distillation } as Record<string, TfTensor>;
      });
      for (const [name, gradient] of gradients) addGradient(name, gradient, 1);
      return readAll(outputs);
    },
  };
}

/** Reads tensors, and disposes of them. */
async function readAll(tensors: Record<string, TfTensor>): Promise<Tensors> {
  const read: Tensors = {};
  for (const [name, tensor] of Object.entries(tensors))
    read[name] = { data: (await tensor.data()) as Float32Array | Int32Array, shape: tensor.shape };
  for (const tensor of Object.values(tensors)) tensor.dispose();
  return read;
}
