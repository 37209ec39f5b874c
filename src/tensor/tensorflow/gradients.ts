/** Gradients by TensorFlow.js's own tape. */

import type { Tensor, Variable } from "@tensorflow/tfjs-core";
import type { TensorFlow } from "./load.ts";

/**
 * What `compute` returns, and the gradients of its `objective`, a float32 of no axes, with respect to `variables`.
 *
 * A variable that the objective does not depend on has a gradient of zeros. All that is returned is the caller's to
 * dispose of; what else was computed is disposed of here.
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
