/** Opens the engine that a training run asks for. */

import type { ModelConfig } from "../../model/config.ts";
import { type LoadedTensorFlow, loadTensorFlow } from "../../tensor/tensorflow/load.ts";
import type { PreBatchQueue } from "../gradient-cache/pre-batch.ts";
import { keepsSharedLayers, partlyTrained, withTrainedLayers } from "../loss/trained-parameters.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import type { EngineOptions } from "./backend.ts";
import { type TrainingEngine, trainingEngine } from "./engine.ts";
import { type FixedLayers, openFixedStates } from "./fixed-states.ts";
import { openOnnxBackend } from "./onnx-backend.ts";
import type { ParameterState } from "./optimizer.ts";
import { openTensorFlowBackend } from "./tensorflow-backend.ts";

/** Names the TensorFlow.js package in use. */
export interface EngineEvent {
  readonly type: "engine";
  readonly name: string;
  /** What computes. "JavaScript" is the CPU without native code, which is very slow. */
  readonly device: LoadedTensorFlow["device"];
  /** Why the faster packages could not be loaded, one message each. */
  readonly failures: readonly string[];
}

/**
 * Opens the engine of a run. The dropout rate is that of the model's configuration unless the
 * options set one.
 *
 * @throws {InputError} if the engine is not installed.
 */
export async function* openEngine(
  options: ResolvedOptions,
  model: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  queue: PreBatchQueue | undefined,
): AsyncGenerator<EngineEvent, TrainingEngine> {
  const config = withTrainedLayers(model, options);
  const { copyAttention, phraseLoss, tau, inBatchNegatives, copies, provider, workers } = options;
  const { querySide, readerOnly, headOnly } = options;
  const retrievalOnly = options.objective === "retrieval";
  const engineOptions: EngineOptions = {
    alpha: retrievalOnly ? 1 : options.alpha, // the retrieval loss is all there is
    ...{ copyAttention, phraseLoss, tau, inBatchNegatives, copies, querySide },
    ...{ retrievalOnly, readerOnly, headOnly },
    scoreTemperature: options.scoreTemperature,
    dropout: options.dropout ?? config.dropoutRate,
    withoutDecay: partlyTrained(config, { tau, querySide, retrievalOnly, readerOnly, headOnly }),
  };
  const layers = fixedLayers(config, options, engineOptions);
  const fixedStates = layers && (await openFixedStates(config, parameters, layers));
  if (options.engine === "onnxruntime") {
    const backend = await openOnnxBackend(
      ...([config, parameters, engineOptions, { provider }, workers] as const),
    );
    const parts = { queue, fixedStates, workers };
    return trainingEngine(config, parameters, engineOptions, backend, parts);
  }
  const { tf, name, device, failures } = await loadTensorFlow();
  yield { type: "engine", name, device, failures: failures.map(({ message }) => message) };
  const backend = openTensorFlowBackend(tf, config, parameters, engineOptions);
  return trainingEngine(config, parameters, engineOptions, backend, { queue, fixedStates });
}

/**
 * The layers whose states are held between steps. With dropout, the states of shared layers differ
 * in each step. TensorFlow.js runs the shared layers in any case.
 */
export function fixedLayers(
  config: ModelConfig,
  { headOnly, engine }: Pick<ResolvedOptions, "headOnly" | "engine">,
  engineOptions: Pick<EngineOptions, "dropout" | "querySide" | "retrievalOnly">,
): FixedLayers | undefined {
  if (headOnly) return "lower";
  const isKept = engineOptions.dropout === 0 && keepsSharedLayers(config, engineOptions);
  return isKept && engine === "onnxruntime" ? "shared" : undefined;
}
