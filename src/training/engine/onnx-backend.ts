/** Training steps on onnxruntime, which computes in the memory of the parameter states. */

import type { ModelConfig } from "../../model/config.ts";
import type { CompileOptions } from "../../tensor/session.ts";
import { selectTrained } from "../objectives/trained-parameters.ts";
import type { Backend, EngineSettings } from "./backend.ts";
import { openGraphRunner } from "./graph-runner.ts";
import { openOnnxOptimizer } from "./onnx-optimizer.ts";
import { onnxPasses } from "./onnx-passes.ts";
import type { ParameterState } from "./optimizer.ts";

/** `parameters` are updated in place. */
export async function openOnnxBackend(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  settings: EngineSettings,
  compileOptions: CompileOptions,
): Promise<Backend> {
  const trained = selectTrained(settings.trained, parameters);
  const optimizer = await openOnnxOptimizer(trained, settings, compileOptions);
  const runner = openGraphRunner(parameters, compileOptions);
  const passes = onnxPasses(config, parameters, settings, runner);
  return {
    passes,
    optimizer,
    clearGradients() {
      for (const { gradient } of parameters.values()) gradient.fill(0);
    },
    async read() {},
    async write() {},
    async [Symbol.asyncDispose]() {
      await Promise.all([runner[Symbol.asyncDispose](), optimizer[Symbol.asyncDispose]()]);
    },
  };
}
