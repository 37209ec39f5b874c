/** Writes the model that a run trains. */

import { type ModelConfig, withHead } from "../../model/config.ts";
import { writeModel } from "../../model/write-model.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../objectives/trained-parameters.ts";

/** Beyond it exp(s), computed in float32, is 0 or infinite. */
const MAX_LOG_SCALE = 87;

/**
 * Writes trained parameters as a model folder: those that changed in float32, the others as the
 * original model has them if it has them in int8. The learned scalars become part of the
 * configuration: the head of greatest weight, and the scale of scores.
 *
 * @param original folder of the model that training began with
 * @throws {InputError} if the disk refuses.
 */
export async function saveModel(
  folder: string,
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  original: string,
): Promise<void> {
  const values = (name: string): Float32Array => parameters.get(name)!.value;
  await writeModel(folder, learnedConfig(config, parameters), values, { original, dtype: "F32" });
}

/** The configuration with the learned head and scale. */
function learnedConfig(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
): ModelConfig {
  const headWeights = parameters.get(HEAD_WEIGHTS)?.value;
  const logScale = parameters.get(LOG_SCALE)!.value[0]!;
  const retrievalScale = Math.exp(Math.max(-MAX_LOG_SCALE, Math.min(MAX_LOG_SCALE, logScale)));
  const scaled = { ...config, retrievalScale };
  return headWeights ? withHead(scaled, headWeights.indexOf(Math.max(...headWeights))) : scaled;
}
