/** What computes training steps, and keeps the parameters where it computes: onnxruntime or TensorFlow.js. */

import type { ModelConfig } from "../../model/config.ts";
import type { CompileOptions } from "../../tensor/session.ts";
import type { GradientSteps, StepOptions } from "../gradient-cache/gradient-steps.ts";
import { trainedOf } from "../loss/trained-parameters.ts";
import { openOnnxOptimizer } from "./onnx-optimizer.ts";
import { openOnnxSteps } from "./onnx-steps.ts";
import type { Optimizer, OptimizerOptions, ParameterState } from "./optimizer.ts";

export type BackendOptions = StepOptions & OptimizerOptions;

export interface Backend extends AsyncDisposable {
  readonly steps: GradientSteps;
  readonly optimizer: Optimizer;
  /** Sets all sums of gradients to 0. */
  clearGradients(): void;
  /** Brings the states that it was opened with up to date: those named. */
  read(names: Iterable<string>): Promise<void>;
}

/** On onnxruntime, which computes in the memory of the states themselves. */
export async function openOnnxBackend(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  options: BackendOptions,
  compileOptions: CompileOptions,
): Promise<Backend> {
  const optimizer = await openOnnxOptimizer(
    trainedOf(config, options, parameters),
    options,
    compileOptions,
  );
  const steps = openOnnxSteps(config, parameters, options, compileOptions);
  return {
    steps,
    optimizer,
    clearGradients() {
      for (const { gradient } of parameters.values()) gradient.fill(0);
    },
    async read() {},
    async [Symbol.asyncDispose]() {
      await Promise.all([steps[Symbol.asyncDispose](), optimizer[Symbol.asyncDispose]()]);
    },
  };
}
