/** The fingerprint of a model: an index belongs to all models with the same one. */

import { createHash } from "node:crypto";
import { bytesOf } from "../checkpoints/values.ts";
import type { ModelConfig } from "./config.ts";
import { buildParameters } from "./parameter-names.ts";

/**
 * SHA-256, in hexadecimal, of everything that determines the keys of passages: the embedding, the
 * encoder blocks below `retrievalLayer` and their relative bias, the norm of that layer, the key
 * rows of the retrieval head, the values of the configuration that these use, and the tokenizer's
 * file.
 *
 * The query projection, a query encoder and phrase queries are not included: an index stays valid
 * when only these are trained.
 *
 * @param weights by checkpoint name, as `loadWeights` returns them
 */
export function fingerprint(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
  tokenizerBytes: Uint8Array,
): string {
  const { embedding, encoder } = buildParameters(config, (name) => name);
  const { attentionNorm, attention } = encoder.blocks[config.retrievalLayer]!;
  const lower = encoder.blocks.slice(0, config.retrievalLayer).flatMap((block) => {
    const { kind: _, ...feedForward } = block.feedForward;
    const layers = [...Object.values(block.attention), ...Object.values(feedForward)];
    return [block.attentionNorm, block.feedForwardNorm, ...layers];
  });
  const rows = config.headSize * config.modelSize;
  const hash = createHash("sha256").update(JSON.stringify(relevantValues(config)));
  for (const name of [embedding, encoder.relativeBias, ...lower, attentionNorm]) {
    hash.update(bytesOf(weights.get(name)!));
  }
  const keyRows = weights
    .get(attention.key)!
    .subarray(config.retrievalHead * rows, (config.retrievalHead + 1) * rows);
  return hash.update(bytesOf(keyRows)).update(tokenizerBytes).digest("hex");
}

/** An array, so that the fingerprint does not depend on property names. */
function relevantValues(config: ModelConfig): (number | string)[] {
  return [
    config.vocabularySize,
    config.modelSize,
    config.headSize,
    config.heads,
    config.feedForwardSize,
    config.feedForward,
    config.relativeBuckets,
    config.relativeMaxDistance,
    config.layerNormEpsilon,
    config.eosId,
    config.retrievalLayer,
    config.retrievalHead,
  ];
}
