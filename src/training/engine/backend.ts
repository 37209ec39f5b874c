/** What computes training steps and holds the parameters: onnxruntime or TensorFlow.js. */

import type { GradientOptions, GradientPasses } from "../gradient-cache/gradient-passes.ts";
import type { Optimizer, OptimizerOptions } from "./optimizer.ts";

export type EngineOptions = GradientOptions & OptimizerOptions;

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
