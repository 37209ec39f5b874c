/** The configuration of the model that a run trains. */

import { InputError } from "../../io/errors.ts";
import type { ModelConfig, Similarity } from "../../model/config.ts";
import { requirePhraseKeys } from "../options/model-folder.ts";
import type { RunRequest } from "../options/run-options.ts";
import type { Part } from "../options/trained.ts";

interface ConfigChoice
  extends Pick<RunRequest, "model" | "layers" | "pooling" | "similarity" | "tau" | "phraseLoss"> {
  readonly part: Part;
}

/**
 * The configuration of the trained model: with a query encoder if the run trains layers of one, and
 * with the vectors of the options. It has phrase queries only if the run trains them: others were
 * trained for other keys.
 *
 * @throws {InputError} if the model contradicts an option
 */
export function trainedConfig(before: ModelConfig, choice: ConfigChoice): ModelConfig {
  const { model, part, layers } = choice;
  const phraseQueries = choice.phraseLoss > 0 ? true : undefined;
  const original = { ...before, phraseQueries };
  const config = withVectors(original, choice);
  if (phraseQueries) requirePhraseKeys(config, `${model}: phraseLoss`);
  checkNoChoice(config, choice);
  if (config !== original) checkIndexIsNew(choice);
  if (part === "head" && config.queryEncoder)
    throw new InputError({
      where: "train head",
      expected: "a model that encodes questions and passages with the same layers",
      got: "a model with a query encoder",
      remedy: "train another part",
    });
  return part === "query" && layers !== undefined ? { ...config, queryEncoder: true } : config;
}

/**
 * The scale of scores that a run with other vectors begins with: as in DPR, and 1 / 0.05 for
 * cosines, as in SimCSE (Gao et al. 2021). The scale of the model belongs to its former scores.
 */
const FIRST_SCALES: Readonly<Record<Similarity, number>> = { dot: 1, cosine: 20 };

/** `config` with the vectors of the options, without what was fitted to other scores. */
function withVectors(config: ModelConfig, given: ConfigChoice): ModelConfig {
  const before = config.retrievalAttention;
  const { pooling = before.pooling, similarity = before.similarity ?? "dot" } = given;
  const vectors = { ...before, pooling, similarity };
  if (haveSameVectors(before, vectors)) return config;
  const pooled = { ...vectors, tokenWeights: undefined };
  const ofAll = pooled.from === "own" ? pooled : { ...pooled, heads: 1 }; // pooling has all heads
  return {
    ...config,
    retrievalAttention: pooling === undefined ? vectors : ofAll,
    retrievalScale: FIRST_SCALES[similarity],
    hybrid: undefined,
    scoreCalibration: undefined,
  };
}

/** Whether the vectors of two models can be compared in the same way. */
export const haveSameVectors = (a: RetrievalAttention, b: RetrievalAttention): boolean =>
  a.pooling === b.pooling && (a.similarity ?? "dot") === (b.similarity ?? "dot");

type RetrievalAttention = ModelConfig["retrievalAttention"];

/** @throws {InputError} for a choice of one head where several make the vectors */
function checkNoChoice({ retrievalAttention }: ModelConfig, { tau }: ConfigChoice): void {
  const { from, pooling, heads } = retrievalAttention;
  if (tau === undefined || (from === "joint" && pooling === undefined && heads === 1)) return;
  throw new InputError({
    where: pooling === undefined ? "heads" : "pooling",
    expected: `vectors of ${pooling === undefined ? heads : "all"} heads`,
    got: "a choice of one head (tau)",
    remedy: "leave one of the two out",
  });
}

/** @throws {InputError} for parts that keep an index, whose keys are of another kind */
function checkIndexIsNew({ part, pooling }: ConfigChoice): void {
  if (part !== "query" && part !== "reader" && part !== "joint") return;
  throw new InputError({
    where: pooling === undefined ? "similarity" : "pooling",
    expected: "training of all that makes vectors, and a new index",
    got: `train ${part}`,
    remedy: "leave one of the two out",
  });
}
