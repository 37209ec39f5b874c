/**
 * The steps of the gradient cache (loss-graph.ts) on TensorFlow.js: the model's functions computed as they are said, and
 * differentiated by its own tape.
 */

import type { Tensor as TfTensor, Variable } from "@tensorflow/tfjs-core";
import type { ModelConfig } from "../../model/config.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { outputsAndGradients } from "../../tensor/tensorflow/gradients.ts";
import type { TensorFlow } from "../../tensor/tensorflow/load.ts";
import { tensorFlowOps } from "../../tensor/tensorflow/ops.ts";
import type { GradientSteps, StepOptions, Tensors } from "../gradient-cache/gradient-steps.ts";
import { fedDropout } from "../loss/dropout.ts";
import type { CacheInput, ChunkInput, CompetitionInput } from "../loss/graph-inputs.ts";
import { chunkObjective, chunkVectors, competition, lossesByName } from "../loss/loss-graph.ts";
import {
  ownOf,
  type TrainedParameters,
  trainedOf,
  trainedParameters,
} from "../loss/trained-parameters.ts";

/** A parameter and the sum of its gradients. They stay where TensorFlow.js computes, and belong to the caller. */
export interface TensorFlowParameter {
  readonly value: Variable;
  readonly gradient: Variable;
}

/** For `parameters`, which are named as in the checkpoint, the objective's own among them. */
export function tensorFlowSteps(
  tf: TensorFlow,
  config: ModelConfig,
  parameters: ReadonlyMap<string, TensorFlowParameter>,
  options: StepOptions,
): GradientSteps {
  const ops = tensorFlowOps(tf);
  const constants = <Name extends string>(tensors: Tensors): Record<Name, TfTensor> => {
    const entries = Object.entries(tensors).map(([name, tensor]) => [name, ops.constant(tensor)]);
    return Object.fromEntries(entries) as Record<Name, TfTensor>;
  };
  const values = (): TrainedParameters<TfTensor> =>
    trainedParameters<TfTensor>(ops, config, options, (name) => parameters.get(name)!.value);
  const variables = new Map(
    [...trainedOf(config, options, parameters)].map(([name, { value }]) => [name, value] as const),
  );
  const own = ownOf(variables);
  const scopeOf = (dropout: Tensors) => {
    const random = constants(dropout);
    return { ops, config, dropout: fedDropout(ops, options.dropout, (name) => random[name]!) };
  };
  const addGradient = (name: string, gradient: TfTensor, weight: number): void => {
    const sum = parameters.get(name)!.gradient;
    tf.tidy(() => sum.assign(tf.add(sum, tf.mul(gradient, weight))));
    gradient.dispose();
  };

  return {
    async vectors({ tensors }, dropout) {
      const computed = tf.tidy(() => ({
        ...chunkVectors(scopeOf(dropout), values(), constants<ChunkInput>(tensors), options),
      }));
      return readAll(computed);
    },

    async competition(batch) {
      const variable = (tensor: Tensor): Variable =>
        tf.tidy(() => tf.variable(ops.constant(tensor)));
      const [queries, keys] = [variable(batch.queries!), variable(batch.keys!)];
      const { outputs, gradients } = outputsAndGradients(
        tf,
        new Map([...own, ["queries", queries], ["keys", keys]]),
        "average",
        () => {
          const input = { ...constants<CompetitionInput>(batch), queries, keys };
          return { ...competition<TfTensor>(ops, values(), input, options) };
        },
      );
      for (const name of own.keys()) addGradient(name, gradients.get(name)!, options.alpha);
      tf.dispose([queries, keys, outputs.average!]);
      return readAll({
        logNormaliser: outputs.logNormaliser!,
        queryGradient: gradients.get("queries")!,
        keyGradient: gradients.get("keys")!,
      });
    },

    async objective({ tensors }, dropout, name, cache) {
      const { outputs, gradients } = outputsAndGradients(tf, variables, "objective", () => {
        const input = constants<ChunkInput>(tensors);
        const given = cache && constants<CacheInput>(cache);
        const named = { ...options, objective: name };
        const { objective, ...losses } = chunkObjective(
          scopeOf(dropout),
          values(),
          input,
          named,
          given,
        );
        return { objective, ...lossesByName(losses) };
      });
      for (const [name, gradient] of gradients) addGradient(name, gradient, 1);
      return readAll(outputs);
    },
  };
}

/** Reads tensors, and disposes of them. */
async function readAll(tensors: Readonly<Record<string, TfTensor>>): Promise<Tensors> {
  const read: Record<string, Tensor> = {};
  for (const [name, tensor] of Object.entries(tensors))
    read[name] = { data: (await tensor.data()) as Float32Array | Int32Array, shape: tensor.shape };
  for (const tensor of Object.values(tensors)) tensor.dispose();
  return read;
}
