/** Training steps on onnxruntime, which computes in the memory of the parameter states. */

import type { ModelConfig } from "../../model/config.ts";
import type { CompileOptions } from "../../tensor/session.ts";
import { selectTrained } from "../loss/trained-parameters.ts";
import type { Backend, EngineOptions } from "./backend.ts";
import { openOnnxOptimizer } from "./onnx-optimizer.ts";
import { openOnnxPasses } from "./onnx-passes.ts";
import type { ParameterState } from "./optimizer.ts";

/** `parameters` are updated in place. */
export async function openOnnxBackend(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  options: EngineOptions,
  compileOptions: CompileOptions,
): Promise<Backend> {
  const trained = selectTrained(config, options, parameters);
  const optimizer = await openOnnxOptimizer(trained, options, compileOptions);
  const passes = openOnnxPasses(config, parameters, options, compileOptions);
  return {
    passes,
    optimizer,
    clearGradients() {
      for (const { gradient } of parameters.values()) gradient.fill(0);
    },
    async read() {},
    async write() {},
    async [Symbol.asyncDispose]() {
      await Promise.all([passes[Symbol.asyncDispose](), optimizer[Symbol.asyncDispose]()]);
    },
  };
}
