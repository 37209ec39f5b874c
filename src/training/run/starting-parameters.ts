/** The first parameters of a run: its model's, or random ones, and the learned scalars. */

import { hasWeights } from "../../checkpoints/open.ts";
import { InputError } from "../../io/errors.ts";
import {
  checkPositions,
  type ModelConfig,
  readConfig,
  type Similarity,
} from "../../model/config.ts";
import { initialWeight, initialWeights } from "../../model/initialise.ts";
import { loadWeights } from "../../model/load-weights.ts";
import { encoderName, parameterShapes } from "../../model/parameter-names.ts";
import { type ParameterState, parameterState } from "../engine/optimizer.ts";
import { HEAD_WEIGHTS, keepsSharedLayers, LOG_SCALE } from "../loss/trained-parameters.ts";
import { requireTokenKeys } from "../options/token-keys.ts";
import type { ResolvedOptions, TrainOptions } from "../options/train-options.ts";

type ConfigOptions = Pick<
  TrainOptions,
  | "querySide"
  | "readerOnly"
  | "headOnly"
  | "trainedLayers"
  | "pooling"
  | "similarity"
  | "tau"
  | "selectHead"
  | "maxPassageTokens"
  | "phraseLoss"
> & { readonly model: string };

/**
 * The configuration of the trained model: with a query encoder if the run trains one, and with the
 * vectors of the options. It has phrase queries only if the run trains them: others were trained
 * for other keys.
 *
 * @throws {InputError} as `readConfig` does, if other vectors contradict another option, and if
 * passages can have more tokens than the model has positions
 */
export async function readTrainedConfig(options: ConfigOptions): Promise<ModelConfig> {
  const phraseQueries = options.phraseLoss ? true : undefined;
  const original = { ...(await readConfig(options.model)), phraseQueries };
  const config = withVectors(original, options);
  if (phraseQueries)
    requireTokenKeys(
      config,
      `${options.model}: phraseLoss`,
      "phrases begin and end with the keys of tokens",
    );
  checkNoChoice(config, options);
  if (config !== original) checkIndexIsNew(options);
  if (options.headOnly && config.queryEncoder)
    throw new InputError({
      where: "headOnly",
      expected: "a model that encodes questions and passages with the same layers",
      got: "a model with a query encoder",
      remedy: "leave headOnly out",
    });
  checkTrainedLayers(config, options);
  if (options.maxPassageTokens !== undefined) checkPositions(config, options.maxPassageTokens);
  return options.querySide === "layers" ? { ...config, queryEncoder: true } : config;
}

/** @throws {InputError} if retrieval does not have as many layers for itself */
function checkTrainedLayers(config: ModelConfig, { trainedLayers }: ConfigOptions): void {
  if (trainedLayers === undefined) return;
  const where = "trainedLayers";
  if (!keepsSharedLayers(config, { retrievalOnly: true }))
    throw new InputError({
      where,
      expected: "a model whose reader has layers of its own, without a query encoder",
      got: config.queryEncoder
        ? "a model with a query encoder"
        : "a model that reads with the layers it retrieves with",
      remedy: "leave trainedLayers out",
    });
  const { jointLayers } = config.backbone!;
  if (trainedLayers > jointLayers)
    throw new InputError({
      where,
      expected: `at most ${jointLayers}`,
      got: String(trainedLayers),
      remedy: "give fewer",
    });
}

/**
 * The scale of scores that a run with other vectors begins with: as in DPR, and 1 / 0.05 for
 * cosines, as in SimCSE (Gao et al. 2021). The scale of the model belongs to its former scores.
 */
const FIRST_SCALES: Readonly<Record<Similarity, number>> = { dot: 1, cosine: 20 };

/** `config` with the vectors of the options, without what was fitted to other scores. */
function withVectors(
  config: ModelConfig,
  { pooling = config.pooling, similarity = config.similarity ?? "dot" }: ConfigOptions,
): ModelConfig {
  const { pooling: before, similarity: comparedBefore = "dot" } = config;
  if (pooling === before && similarity === comparedBefore) return config;
  const retrievalScale = FIRST_SCALES[similarity];
  const retrievalHeads = pooling === undefined ? config.retrievalHeads : 1; // pooling has all heads
  const tokenWeights = pooling === undefined ? config.tokenWeights : undefined;
  return {
    ...{ ...config, pooling, similarity, retrievalHeads, tokenWeights, retrievalScale },
    hybrid: undefined,
  };
}

/** @throws {InputError} for a choice of one head where several make the vectors */
function checkNoChoice(
  { pooling, retrievalHeads }: ModelConfig,
  { tau, selectHead }: ConfigOptions,
): void {
  if (pooling === undefined && retrievalHeads === 1) return;
  const conflict =
    (tau !== undefined && "a choice of one head (tau)") ||
    (selectHead && "a choice of one head (selectHead)");
  if (!conflict) return;
  throw new InputError({
    where: pooling === undefined ? "retrieval_heads" : "pooling",
    expected: `vectors of ${pooling === undefined ? retrievalHeads : "all"} heads`,
    got: conflict,
    remedy: "leave one of the two out",
  });
}

/** @throws {InputError} for options that keep an index, whose keys are of another kind */
function checkIndexIsNew({ querySide, readerOnly, pooling }: ConfigOptions): void {
  const conflict = (querySide && "the query side") || (readerOnly && "the reader only");
  if (!conflict) return;
  throw new InputError({
    where: pooling === undefined ? "similarity" : "pooling",
    expected: "training of all that makes vectors, and a new index",
    got: conflict,
    remedy: "leave one of the two out",
  });
}

/**
 * Parameters by their names in a checkpoint, with `log_scale` and, if heads are mixed,
 * `head_weights`. If `config` has a query encoder and the model has none, the query encoder begins
 * as a copy of the encoder. Token weights that the model has not are equal.
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
    const values =
      weights.get(name) ??
      weights.get(encoderName(name))?.slice() ??
      initialWeight(config, name, shape, seed);
    parameters.set(name, parameterState(shape, values));
  }
  parameters.set(LOG_SCALE, parameterState([], Float32Array.of(Math.log(config.retrievalScale))));
  if (tau !== undefined)
    parameters.set(HEAD_WEIGHTS, parameterState([config.heads], new Float32Array(config.heads)));
  return parameters;
}
