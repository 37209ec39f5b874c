/** Parameters of a run: the first ones, and the model that is written of those it has. */

import { hasWeights } from "../../checkpoints/open.ts";
import { type HybridWeights, headLayer, type ModelConfig, withHead } from "../../model/config.ts";
import { hasRetrievalHead, readConfig } from "../../model/config-file.ts";
import { initialWeight, initialWeights } from "../../model/initialise.ts";
import { loadWeights } from "../../model/load-weights.ts";
import { parameterTable, queryEncoderSources, TOKEN_WEIGHTS } from "../../model/parameter-names.ts";
import { copyModel, writeModel } from "../../model/write-model.ts";
import { type ParameterState, parameterState } from "../engine/optimizer.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../objectives/trained-parameters.ts";
import type { Run, StartingModel } from "./run.ts";

/** @throws {InputError} as `readConfig` does */
export const readStartingModel = async (folder: string): Promise<StartingModel> => ({
  config: await readConfig(folder),
  hasWeights: await hasWeights(folder),
  namesHead: await hasRetrievalHead(folder),
});

/**
 * Parameters by their names in a checkpoint, with `log_scale` and, if heads are mixed,
 * `head_weights`. If `config` has a query encoder and the model has none, the query encoder begins
 * as a copy of the encoder. Token weights that the model has not are equal.
 *
 * @throws {InputError} as `loadWeights` does.
 */
export async function startingParameters({
  model,
  config,
  seed,
  tau,
}: Pick<Run, "model" | "config" | "seed" | "tau">): Promise<Map<string, ParameterState>> {
  const weights = (await hasWeights(model))
    ? await loadWeights(model, await readConfig(model))
    : initialWeights(config, seed);
  const sources = queryEncoderSources(config);
  const parameters = new Map<string, ParameterState>();
  for (const [name, weight] of parameterTable(config)) {
    const values =
      weights.get(name) ??
      weights.get(sources.get(name) ?? "")?.slice() ??
      initialWeight(name, weight, seed);
    parameters.set(name, parameterState(weight.shape, values));
  }
  parameters.set(LOG_SCALE, parameterState([], Float32Array.of(Math.log(config.retrievalScale))));
  const { heads } = headLayer(config);
  if (tau !== undefined)
    parameters.set(HEAD_WEIGHTS, parameterState([heads], new Float32Array(heads)));
  return parameters;
}

/** Trained weights by their names, as the given model has them. */
export type GivenWeights = ReadonlyMap<string, Float32Array>;

/**
 * The weights that a run averages with what it finds: see `keptParameters`. None, unless it has
 * `average`. Token weights are not averaged, because they are counted.
 *
 * @param start the first parameters of the run, which are copied
 */
export function givenWeights(
  { average, trained }: Pick<Run, "average" | "trained">,
  start: ReadonlyMap<string, ParameterState>,
): GivenWeights {
  const names = average ? [...trained.names].filter((name) => name !== TOKEN_WEIGHTS) : [];
  return new Map(names.map((name) => [name, start.get(name)!.value.slice()]));
}

/**
 * The parameters that a run measures and saves. With w of the given model and v after some steps,
 *
 *     (w + v) / 2
 *
 * for the averaged weights; training goes on from v. What is learned of made-up queries is in part
 * wrong for real ones. Half of the way keeps most of the gain, and loses less.
 *
 * Source: Wortsman et al. 2022, "Robust fine-tuning of zero-shot models" (WiSE-FT), section 3.
 *
 * @param current after some steps; not changed
 */
export const keptParameters = (
  current: ReadonlyMap<string, ParameterState>,
  given: GivenWeights,
): ReadonlyMap<string, ParameterState> =>
  new Map(
    Array.from(current, ([name, state]) => {
      const before = given.get(name);
      if (!before) return [name, state];
      return [name, { ...state, value: before.map((w, i) => (w + state.value[i]!) / 2) }];
    }),
  );

/** Beyond it exp(s), computed in float32, is 0 or infinite. */
const MAX_LOG_SCALE = 87;

/**
 * Writes trained parameters as a model folder: in int8 those that the original model has in int8,
 * the others in float32. The learned scalars become part of the configuration: the head of greatest
 * weight, and the scale of scores.
 *
 * @param start the model that training began with, and the seed of the rounding to int8
 * @throws {InputError} if the disk refuses.
 */
export async function saveModel(
  folder: string,
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  { model, seed }: Pick<Run, "model" | "seed">,
): Promise<void> {
  const values = (name: string): Float32Array => parameters.get(name)!.value;
  const learned = learnedConfig(config, parameters);
  await writeModel(folder, learned, values, { original: model, seed });
}

/**
 * Writes the model that a run began with: byte for byte, unless the run itself made its weights or
 * its kind of vectors.
 *
 * @param hybrid its weights of hybrid search, if it is not a copy
 * @throws {InputError} if the disk refuses
 */
export async function saveStart(run: Run, hybrid?: HybridWeights): Promise<void> {
  const { model, out, config, changesVectors } = run;
  if (!changesVectors && (await hasWeights(model))) return copyModel(model, out);
  const measured = hybrid ? { ...config, hybrid } : config;
  await saveModel(out, measured, await startingParameters(run), run);
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
