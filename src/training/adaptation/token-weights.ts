/** Token weights that are counted in a corpus (encoder/token-weights.ts). */

import { type ModelConfig, withAttention } from "../../model/config.ts";
import { passageIds } from "../../text/tokens/prompts.ts";
import type { Tokenizer } from "../../text/tokens/tokenizer.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { AdaptRequest } from "../options/adapt-options.ts";

/**
 * The configuration with token weights, if the trained model compares tokens by the cosine. The
 * length of other vectors can say how much a token matters.
 */
export const withTokenWeights = (
  config: ModelConfig,
  { pooling, similarity }: VectorOptions,
): ModelConfig =>
  withAttention(config, (before) =>
    (similarity ?? before.similarity) === "cosine" && (pooling ?? before.pooling) === undefined
      ? { tokenWeights: true }
      : {},
  );

type VectorOptions = Pick<AdaptRequest, "pooling" | "similarity">;

/**
 * The logs of the weights of all tokens: -> [vocabularySize]. With N passages, of which n(t) have
 * token t, the weight is
 *
 *     sqrt(1 + idf(t)), idf(t) = ln((N + 1) / (n(t) + 1/2))
 *
 * so a token of every passage has a weight of 1, and one of a passage in a thousand of 2.7. Hybrid
 * search loses with the whole idf, because BM25 has it already (docs/experiments/adaptation.md).
 *
 * @throws {InputError} if the corpus has changed since it was opened
 */
export async function countTokenWeights(
  corpus: Pick<Corpus, "size" | "passages">,
  tokenizer: Tokenizer,
  { vocabularySize }: Pick<ModelConfig, "vocabularySize">,
  maxPassageTokens: number,
): Promise<Float32Array> {
  const passagesWith = new Uint32Array(vocabularySize);
  for await (const passage of corpus.passages())
    for (const id of new Set(passageIds(tokenizer, passage, maxPassageTokens))) passagesWith[id]!++;
  return Float32Array.from(
    passagesWith,
    (count) => 0.5 * Math.log(1 + Math.log((corpus.size + 1) / (count + 0.5))),
  );
}
