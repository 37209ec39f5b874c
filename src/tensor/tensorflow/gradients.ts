/** Gradients by the automatic differentiation of TensorFlow.js. */

import type { Tensor, Variable } from "@tensorflow/tfjs-core";
import type { TensorFlow } from "./load.ts";

/**
 * Runs `compute` and returns its outputs and the gradients of the output `objective`, a float32
 * scalar, with respect to `variables`.
 *
 * The gradient is zero for a variable that the objective does not depend on. The caller disposes of
 * all returned tensors; this function disposes of intermediate tensors.
 */
export function outputsAndGradients<Outputs extends Readonly<Record<string, Tensor>>>(
  tf: TensorFlow,
  variables: ReadonlyMap<string, Variable>,
  objective: keyof Outputs,
  compute: () => Outputs,
): { outputs: Outputs; gradients: Map<string, Tensor> } {
  let outputs = {} as Outputs;
  const { grads } = tf.variableGrads(() => {
    outputs = compute();
    for (const output of Object.values(outputs)) tf.keep(output);
    return outputs[objective] as ReturnType<typeof tf.scalar>;
  }, [...variables.values()]);
  const gradients = new Map<string, Tensor>();
  for (const [name, variable] of variables)
    gradients.set(name, grads[variable.name] ?? tf.zerosLike(variable));
  return { outputs, gradients };
}
