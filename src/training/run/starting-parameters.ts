/** The first parameters of a run: its model's, or random ones, and the learned scalars. */

import { hasWeights } from "../../checkpoints/open.ts";
import { headLayer } from "../../model/config.ts";
import { hasRetrievalHead, readConfig } from "../../model/config-file.ts";
import { initialWeight, initialWeights } from "../../model/initialise.ts";
import { loadWeights } from "../../model/load-weights.ts";
import { parameterTable, queryEncoderSources } from "../../model/parameter-names.ts";
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
