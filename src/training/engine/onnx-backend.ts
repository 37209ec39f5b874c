/** Training steps on onnxruntime, which computes in the memory of the parameter states. */

import type { ModelConfig } from "../../model/config.ts";
import type { CompileOptions } from "../../tensor/session.ts";
import { selectTrained } from "../loss/trained-parameters.ts";
import type { Backend, EngineOptions } from "./backend.ts";
import { openOnnxOptimizer } from "./onnx-optimizer.ts";
import { openOnnxPasses } from "./onnx-passes.ts";
import type { ParameterState } from "./optimizer.ts";
import { openWorkers } from "./workers.ts";

/**
 * `parameters` are updated in place.
 *
 * @param workers threads that compute chunks at the same time, on the cpu provider. Default 1.
 */
export async function openOnnxBackend(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  options: EngineOptions,
  compileOptions: CompileOptions,
  workers = 1,
): Promise<Backend> {
  const trained = selectTrained(config, options, parameters);
  const optimizer = await openOnnxOptimizer(trained, options, compileOptions);
  const passes = openOnnxPasses(config, parameters, options, compileOptions);
  const parallel = workers > 1 ? openWorkers(workers, config, parameters, options) : undefined;
  return {
    passes: parallel ? { ...passes, inParallel: parallel.run } : passes,
    optimizer,
    clearGradients() {
      for (const { gradient } of parameters.values()) gradient.fill(0);
    },
    async read() {},
    async write() {},
    async [Symbol.asyncDispose]() {
      await parallel?.[Symbol.asyncDispose]();
      await Promise.all([passes[Symbol.asyncDispose](), optimizer[Symbol.asyncDispose]()]);
    },
  };
}
