/** What computes training steps and holds the parameters: onnxruntime or TensorFlow.js. */

import type { GradientPasses } from "../gradient-cache/passes.ts";
import type { StepSettings } from "../objectives/passes.ts";
import type { Optimizer, OptimizerOptions } from "./optimizer.ts";

export type EngineSettings = StepSettings & OptimizerOptions;

export interface Backend extends AsyncDisposable {
  readonly passes: GradientPasses;
  readonly optimizer: Optimizer;
  /** Sets all sums of gradients to 0. */
  clearGradients(): void;
  /** Updates the states that the backend was opened with, for the parameters of these names. */
  read(names: Iterable<string>): Promise<void>;
  /** Takes the states that the backend was opened with, which the caller has changed. */
  write(): Promise<void>;
}
