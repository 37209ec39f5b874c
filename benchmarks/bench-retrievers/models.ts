/** The models that are compared: copies of one model that differ in what retrieval compares. */

import { join } from "node:path";
import { type ModelConfig, withAttention } from "../../src/model/config.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { parameterNames, TOKEN_WEIGHTS } from "../../src/model/parameter-names.ts";
import { writeModel } from "../../src/model/write-model.ts";
import { loadTokenizer } from "../../src/text/tokens/tokenizer.ts";
import { countTokenWeights } from "../../src/training/adaptation/token-weights.ts";

type Weights = ReadonlyMap<string, Float32Array>;
type Corpus = Parameters<typeof countTokenWeights>[0];

/** A copy in float32 whose vector of a text is the mean of its states. */
export async function writeVectorModel(model: string, out: string): Promise<void> {
  const config = await readConfig(model);
  const weights = await loadWeights(model, config);
  const { similarity } = config.retrievalAttention;
  const pooled: ModelConfig = {
    ...config,
    retrievalAttention: { from: "joint", stack: 1, head: 0, heads: 1, pooling: "mean", similarity },
    hybrid: undefined,
  };
  await writeCopy(model, out, pooled, weights, meanProjections(config, weights));
}

/** A copy in float32 with token weights counted in the corpus. */
export async function writeWeighedModel(
  model: string,
  out: string,
  corpus: Corpus,
  maxPassageTokens: number,
): Promise<void> {
  const config = await readConfig(model);
  const weights = await loadWeights(model, config);
  const tokenizer = await loadTokenizer(join(model, "spiece.model"));
  const counted = await countTokenWeights(corpus, tokenizer, config, maxPassageTokens);
  const changed = new Map([[TOKEN_WEIGHTS, counted]]);
  await writeCopy(
    model,
    out,
    withAttention(config, () => ({ tokenWeights: true })),
    weights,
    changed,
  );
}

/** A copy in float32. */
export async function writeTokenModel(model: string, out: string): Promise<void> {
  const config = await readConfig(model);
  await writeCopy(model, out, config, await loadWeights(model, config), new Map());
}

const writeCopy = (
  original: string,
  out: string,
  config: ModelConfig,
  weights: Weights,
  changed: Weights,
): Promise<void> =>
  writeModel(
    out,
    { ...config, pruning: undefined },
    (name) => changed.get(name) ?? weights.get(name)!,
    { original, seed: 0 },
  );

/** Projections with which the vector of a text is the mean of the states below the heads. */
function meanProjections(config: ModelConfig, weights: Weights): Weights {
  const { heads } = parameterNames(config);
  const { modelSize } = config;
  const norm = weights.get(heads.norm!)!;
  const identity = new Float32Array(heads.sizes.heads * heads.sizes.headSize * modelSize);
  for (let d = 0; d < modelSize; d++) identity[d * modelSize + d] = 1 / norm[d]!;
  return new Map([heads.query, heads.key].map(({ weight }) => [weight, identity]));
}
