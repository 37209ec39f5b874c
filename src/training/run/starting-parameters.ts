/** The first parameters of a run: its model's, or random ones, and the learned scalars. */

import { hasWeights } from "../../checkpoints/open.ts";
import { type ModelConfig, readConfig } from "../../model/config.ts";
import { initialWeights } from "../../model/initialise.ts";
import { loadWeights } from "../../model/load-weights.ts";
import { encoderName, parameterShapes } from "../../model/parameter-names.ts";
import { type ParameterState, parameterState } from "../engine/optimizer.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../loss/trained-parameters.ts";
import type { ResolvedOptions, TrainOptions } from "../options/train-options.ts";

/**
 * The configuration of the trained model: with a query encoder if the run trains one, and without
 * phrase queries, because they were trained for other keys.
 */
export async function readTrainedConfig({
  model,
  querySide,
}: Pick<TrainOptions, "querySide"> & { readonly model: string }): Promise<ModelConfig> {
  const config = { ...(await readConfig(model)), phraseQueries: undefined };
  return querySide === "layers" ? { ...config, queryEncoder: true } : config;
}

/**
 * Parameters by their names in a checkpoint, with `log_scale` and, if heads are mixed,
 * `head_weights`. If `config` has a query encoder and the model has none, the query encoder begins
 * as a copy of the encoder.
 *
 * @throws {InputError} as `loadWeights` does.
 */
export async function startingParameters(
  { model, seed, tau }: Pick<ResolvedOptions, "model" | "seed" | "tau">,
  config: ModelConfig,
): Promise<Map<string, ParameterState>> {
  const weights = (await hasWeights(model))
    ? await loadWeights(model, await readConfig(model))
    : initialWeights(config, seed);
  const parameters = new Map<string, ParameterState>();
  for (const [name, shape] of parameterShapes(config)) {
    const values = weights.get(name) ?? weights.get(encoderName(name))!.slice();
    parameters.set(name, parameterState(shape, values));
  }
  parameters.set(LOG_SCALE, parameterState([], Float32Array.of(Math.log(config.retrievalScale))));
  if (tau !== undefined)
    parameters.set(HEAD_WEIGHTS, parameterState([config.heads], new Float32Array(config.heads)));
  return parameters;
}
