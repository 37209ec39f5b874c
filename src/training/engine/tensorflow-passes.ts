/**
 * The passes of the gradient cache on TensorFlow.js, which runs the loss graph eagerly and
 * differentiates it with its own tape.
 */

import type { Tensor as TfTensor, Variable } from "@tensorflow/tfjs-core";
import type { ModelConfig } from "../../model/config.ts";
import type { LayerContext } from "../../model/layers/context.ts";
import type { Ops, Tensor } from "../../tensor/ops.ts";
import { outputsAndGradients } from "../../tensor/tensorflow/gradients.ts";
import type { TensorFlow } from "../../tensor/tensorflow/load.ts";
import { tensorFlowOps } from "../../tensor/tensorflow/ops.ts";
import type {
  GradientOptions,
  GradientPasses,
  Tensors,
} from "../gradient-cache/gradient-passes.ts";
import { fedDropout } from "../loss/dropout.ts";
import type { CacheInput, ChunkInput, NormaliserInput } from "../loss/graph-inputs.ts";
import { batchNormaliser, chunkLoss, chunkVectors, namedLosses } from "../loss/loss-graph.ts";
import {
  buildTrainedParameters,
  selectLearnedScalars,
  selectTrained,
  type TrainedParameters,
} from "../loss/trained-parameters.ts";

/** A parameter and the sum of its gradients. The caller disposes of them. */
export interface TensorFlowParameter {
  readonly value: Variable;
  readonly gradient: Variable;
}

/** Adds gradients to those of `parameters`, which include the learned scalars. */
export function openTensorFlowPasses(
  tf: TensorFlow,
  config: ModelConfig,
  parameters: ReadonlyMap<string, TensorFlowParameter>,
  options: GradientOptions,
): GradientPasses {
  const pass = passContext(tf, config, parameters, options);
  return {
    async vectors({ tensors, objective }, dropout) {
      const computed = tf.tidy(() => {
        const input = constants<ChunkInput>(pass.ops, tensors);
        const context = pass.layerContext(dropout);
        const named = { ...options, objective };
        return { ...chunkVectors(context, pass.trainedParameters(), input, named) };
      });
      return readAndDispose(computed);
    },
    normaliser: (batch) => normaliserPass(tf, pass, batch, options),
    async loss({ tensors }, dropout, objective, cache) {
      const { outputs, gradients } = outputsAndGradients(tf, pass.variables, "loss", () => {
        const input = constants<ChunkInput>(pass.ops, tensors);
        const cached = cache && constants<CacheInput>(pass.ops, cache);
        const context = pass.layerContext(dropout);
        const trained = pass.trainedParameters();
        const named = { ...options, objective };
        const { loss, ...losses } = chunkLoss(context, trained, input, named, cached);
        return { loss, ...namedLosses(losses) };
      });
      for (const [name, gradient] of gradients) pass.addGradient(name, gradient, 1);
      return readAndDispose(outputs);
    },
  };
}

type PassContext = ReturnType<typeof passContext>;

/** What the passes share. */
function passContext(
  tf: TensorFlow,
  config: ModelConfig,
  parameters: ReadonlyMap<string, TensorFlowParameter>,
  options: GradientOptions,
) {
  const ops = tensorFlowOps(tf);
  const trained = selectTrained(config, options, parameters);
  return {
    ops,
    /** The values of the parameters that are trained. */
    variables: new Map([...trained].map(([name, { value }]) => [name, value])),
    trainedParameters: (): TrainedParameters<TfTensor> =>
      buildTrainedParameters<TfTensor>(ops, config, options, (name) => parameters.get(name)!.value),
    layerContext(dropout: Tensors): LayerContext<TfTensor> {
      const random = constants(ops, dropout);
      return { ops, config, dropout: fedDropout(ops, options.dropout, (name) => random[name]!) };
    },
    /** Adds `weight` times a gradient to its sum, and disposes of it. */
    addGradient(name: string, gradient: TfTensor, weight: number): void {
      const sum = parameters.get(name)!.gradient;
      tf.tidy(() => sum.assign(tf.add(sum, tf.mul(gradient, weight))));
      gradient.dispose();
    },
  };
}

async function normaliserPass(
  tf: TensorFlow,
  { ops, variables, trainedParameters, addGradient }: PassContext,
  batch: Tensors,
  options: GradientOptions,
): Promise<Tensors> {
  const variable = (tensor: Tensor): Variable => tf.tidy(() => tf.variable(ops.constant(tensor)));
  const [queries, keys] = [variable(batch.queries!), variable(batch.keys!)];
  const scalars = selectLearnedScalars(variables);
  const { outputs, gradients } = outputsAndGradients(
    tf,
    new Map([...scalars, ["queries", queries], ["keys", keys]]),
    "mean",
    () => {
      const input = { ...constants<NormaliserInput>(ops, batch), queries, keys };
      return { ...batchNormaliser<TfTensor>(ops, trainedParameters(), input, options) };
    },
  );
  for (const name of scalars.keys()) addGradient(name, gradients.get(name)!, options.alpha);
  tf.dispose([queries, keys, outputs.mean!]);
  return readAndDispose({
    logNormaliser: outputs.logNormaliser!,
    queryGradient: gradients.get("queries")!,
    keyGradient: gradients.get("keys")!,
  });
}

function constants<Name extends string>(
  ops: Ops<TfTensor>,
  tensors: Tensors,
): Record<Name, TfTensor> {
  const entries = Object.entries(tensors).map(([name, tensor]) => [name, ops.constant(tensor)]);
  return Object.fromEntries(entries) as Record<Name, TfTensor>;
}

async function readAndDispose(tensors: Readonly<Record<string, TfTensor>>): Promise<Tensors> {
  const read: Record<string, Tensor> = {};
  for (const [name, tensor] of Object.entries(tensors))
    read[name] = { data: (await tensor.data()) as Float32Array | Int32Array, shape: tensor.shape };
  for (const tensor of Object.values(tensors)) tensor.dispose();
  return read;
}
