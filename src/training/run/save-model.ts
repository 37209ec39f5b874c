/** Writes trained parameters as an ordinary model folder. */

import { copyFile, mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { type ModelConfig, writeConfig } from "../../config.ts";
import { parameterShapes } from "../../weights/names.ts";
import { writeSafetensors } from "../../weights/write-safetensors.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../objective/trained-parameters.ts";

/** Beyond it exp(s), which is computed in float32, is 0 or infinite: a retrieval that has collapsed. */
const MAX_LOG_SCALE = 87;

/**
 * Writes `config.json`, `spiece.model` and `model.safetensors`, each in one step.
 *
 * What the objective learned becomes part of the configuration: the head of greatest weight, and the scale of scores.
 * `original` is the folder that training began from. @throws {InputError} where the disk refuses.
 */
export async function saveModel(
  folder: string,
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  original: string,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const shapes = parameterShapes(config);
  const tensors = [...shapes].map(
    ([name, shape]) => [name, { shape, numbers: parameters.get(name)!.value }] as const,
  );
  await writeSafetensors(join(folder, "model.safetensors"), new Map(tensors), { dtype: "F32" });
  await copyWhole(join(original, "spiece.model"), join(folder, "spiece.model"));
  await writeConfig(folder, learnedConfig(config, parameters), original);
}

export function learnedConfig(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
): ModelConfig {
  const headWeights = parameters.get(HEAD_WEIGHTS)?.value;
  const logScale = parameters.get(LOG_SCALE)!.value[0]!;
  const retrievalScale = Math.exp(Math.max(-MAX_LOG_SCALE, Math.min(MAX_LOG_SCALE, logScale)));
  const retrievalHead = headWeights ? headWeights.indexOf(Math.max(...headWeights)) : config.retrievalHead;
  return { ...config, retrievalScale, retrievalHead };
}

async function copyWhole(from: string, to: string): Promise<void> {
  await copyFile(from, `${to}.partial`);
  await rename(`${to}.partial`, to);
}
