/** Both training backends, for tests that run on each of them. */

import type { ModelConfig } from "../../src/model/config.ts";
import { loadTensorFlow } from "../../src/tensor/tensorflow/load.ts";
import type { Backend, EngineSettings } from "../../src/training/engine/engine.ts";
import { openOnnxBackend } from "../../src/training/engine/onnx-backend.ts";
import type { ParameterState } from "../../src/training/engine/optimizer.ts";
import { openTensorFlowBackend } from "../../src/training/engine/tensorflow-backend.ts";
import { ONE_THREAD } from "./training.ts";

type Open = (
  config: ModelConfig,
  states: ReadonlyMap<string, ParameterState>,
  options: EngineSettings,
) => Promise<Backend>;

export const BACKENDS: Readonly<Record<"onnxruntime" | "tensorflow", Open>> = {
  onnxruntime: (config, states, options) => openOnnxBackend(config, states, options, ONE_THREAD),
  async tensorflow(config, states, options) {
    const { tf } = await loadTensorFlow();
    return openTensorFlowBackend(tf, config, states, options);
  },
};
