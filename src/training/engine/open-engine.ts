/** The engines that a run can be told to train on. */

import type { ModelConfig } from "../../model/config.ts";
import { loadTensorFlow } from "../../tensor/tensorflow/load.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { openOnnxBackend } from "./backend.ts";
import { type EngineOptions, type TrainingEngine, trainingEngine } from "./engine.ts";
import type { ParameterState } from "./optimizer.ts";
import { openTensorFlowBackend } from "./tensorflow-backend.ts";

/** The TensorFlow.js package that computes, and why faster packages could not be used. */
export interface EngineEvent {
  readonly type: "engine";
  readonly name: string;
  readonly failures: readonly string[];
}

/**
 * The engine of a run, over `parameters`. What is not a number of the run's options follows from the model: dropout from its
 * configuration. @throws {InputError} where the engine is not installed.
 */
export async function* openEngine(
  options: ResolvedOptions,
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
): AsyncGenerator<EngineEvent, TrainingEngine> {
  const {
    alpha,
    copyAttention,
    tau,
    inBatchNegatives,
    querySide,
    dropout = config.dropoutRate,
    provider,
  } = options;
  const weightDecay = querySide === "projection" ? 0 : undefined; // or the rows of other heads would decay
  const engineOptions: EngineOptions = {
    alpha,
    copyAttention,
    tau,
    inBatchNegatives,
    querySide,
    dropout,
    weightDecay,
  };
  if (options.engine === "onnxruntime") {
    const backend = await openOnnxBackend(config, parameters, engineOptions, { provider });
    return trainingEngine(config, parameters, engineOptions, backend);
  }
  const { tf, name, failures } = await loadTensorFlow();
  yield { type: "engine", name, failures: failures.map(({ message }) => message) };
  const backend = openTensorFlowBackend(tf, config, parameters, engineOptions);
  return trainingEngine(config, parameters, engineOptions, backend);
}
