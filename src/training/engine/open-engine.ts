/** Opens a training engine. */

import type { ModelConfig } from "../../model/config.ts";
import type { Provider } from "../../tensor/session.ts";
import { type LoadedTensorFlow, loadTensorFlow } from "../../tensor/tensorflow/load.ts";
import type { PreBatchQueue } from "../gradient-cache/pre-batch.ts";
import type { StepSettings } from "../objectives/passes.ts";
import { HEAD_WEIGHTS } from "../objectives/trained-parameters.ts";
import { type TrainingEngine, trainingEngine } from "./engine.ts";
import { openHeldStates } from "./held-states.ts";
import { openHeldTeacher } from "./held-teacher.ts";
import { openOnnxBackend } from "./onnx-backend.ts";
import type { OptimizerOptions, ParameterState } from "./optimizer.ts";
import { openTensorFlowBackend } from "./tensorflow-backend.ts";

/** Names the TensorFlow.js package in use. */
export interface EngineEvent {
  /** Always `engine`. */
  readonly type: "engine";
  /** What computes. */
  readonly name: string;
  /** What computes. "JavaScript" is the CPU without native code, which is very slow. */
  readonly device: LoadedTensorFlow["device"];
  /** Why the faster packages could not be loaded, one message each. */
  readonly failures: readonly string[];
}

/** What computes steps. */
export interface Device {
  readonly engine: "onnxruntime" | "tensorflow";
  readonly provider?: Provider | undefined;
}

/** What is the same in all steps of an engine. */
export type EngineRun = StepSettings & Pick<OptimizerOptions, "weightDecay" | "clipNorm">;

/**
 * @param parameters of the model, with the learned scalars; they are updated in place
 * @throws {InputError} if the engine is not installed.
 */
export async function* openEngine(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  run: EngineRun,
  { engine, provider }: Device,
  queue?: PreBatchQueue,
): AsyncGenerator<EngineEvent, TrainingEngine> {
  const settings = {
    ...run,
    withoutDecay: new Set(run.trained.rows.keys()),
    clippedApart: new Set([HEAD_WEIGHTS]),
  };
  const heldStates = openHeldStates(config, parameters, run.trained);
  const teacher = openHeldTeacher(config, parameters, run, heldStates);
  const parts = { queue, heldStates, teacher };
  if (engine === "onnxruntime") {
    const backend = await openOnnxBackend(config, parameters, settings, { provider });
    return trainingEngine(config, parameters, settings, backend, parts);
  }
  const { tf, name, device, failures } = await loadTensorFlow();
  yield { type: "engine", name, device, failures: failures.map(({ message }) => message) };
  const backend = openTensorFlowBackend(tf, config, parameters, settings);
  return trainingEngine(config, parameters, settings, backend, parts);
}
