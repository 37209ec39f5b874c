/** Writes a model folder. */

import { join } from "node:path";
import { type FloatType, writeSafetensors } from "../../checkpoints/write-safetensors.ts";
import { createOutputDirectory } from "../../io/create-directory.ts";
import { inputErrorFrom } from "../../io/errors.ts";
import { replaceByCopy } from "../../io/replace-file.ts";
import { type ModelConfig, writeConfig } from "../../model/config.ts";
import { parameterShapes } from "../../model/parameter-names.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../loss/trained-parameters.ts";

/** Beyond it exp(s), computed in float32, is 0 or infinite. */
const MAX_LOG_SCALE = 87;

/**
 * Writes trained parameters as a model folder, in float32. The learned scalars become part of the
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

/**
 * Writes `model.safetensors`, `spiece.model` and `config.json`, each in one step, in this order.
 *
 * @param values returns a weight by its name in the checkpoint
 * @param options.original folder with the tokenizer and the other fields of the configuration
 * @throws {InputError} if the disk refuses.
 */
export async function writeModel(
  folder: string,
  config: ModelConfig,
  values: (name: string) => Float32Array,
  { original, dtype }: { readonly original: string; readonly dtype: FloatType },
): Promise<void> {
  await createOutputDirectory(folder);
  const tensors = [...parameterShapes(config)].map(
    ([name, shape]) => [name, { shape, values: values(name) }] as const,
  );
  await writeSafetensors(join(folder, "model.safetensors"), new Map(tensors), { dtype });
  await copyTokenizer(join(original, "spiece.model"), join(folder, "spiece.model"));
  await writeConfig(folder, config, original);
}

/**
 * The configuration with the learned head and scale. A calibration of answers and a pruning layer
 * are left out: they were fitted for other weights.
 */
function learnedConfig(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
): ModelConfig {
  const headWeights = parameters.get(HEAD_WEIGHTS)?.value;
  const logScale = parameters.get(LOG_SCALE)!.value[0]!;
  const retrievalScale = Math.exp(Math.max(-MAX_LOG_SCALE, Math.min(MAX_LOG_SCALE, logScale)));
  const retrievalHead = headWeights
    ? headWeights.indexOf(Math.max(...headWeights))
    : config.retrievalHead;
  const fitted = { calibration: undefined, pruning: undefined };
  return { ...config, retrievalScale, retrievalHead, ...fitted };
}

/** @throws {InputError} if the original has gone */
const copyTokenizer = (from: string, to: string): Promise<void> =>
  replaceByCopy(to, from).catch((error: unknown) => {
    const problem = { where: from, expected: "the tokenizer of the model" };
    throw inputErrorFrom(error, { ...problem, remedy: "do not change the model during a run" });
  });
