/** What an index depends on, in one line of hex: passage keys made by one model must not meet questions of another. */

import { createHash } from "node:crypto";
import { bytesOf } from "../checkpoints/values.ts";
import type { ModelConfig } from "./config.ts";
import { buildParameters } from "./parameter-names.ts";

/**
 * SHA-256 over all that determines the keys of passages: the embedding, the encoder below `retrievalLayer` and its relative
 * bias, that layer's norm and the key rows of the retrieval head, the numbers of the config that these are used with, and
 * the tokenizer's file. The query projection and a query encoder are not among them: after training either alone, an index
 * stays good.
 *
 * @param weights by checkpoint name, as `loadWeights` gives them
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
  const hash = createHash("sha256").update(JSON.stringify(relevantNumbers(config)));
  for (const name of [embedding, encoder.relativeBias, ...lower, attentionNorm]) {
    hash.update(bytesOf(weights.get(name)!));
  }
  const keyRows = weights
    .get(attention.key)!
    .subarray(config.retrievalHead * rows, (config.retrievalHead + 1) * rows);
  return hash.update(bytesOf(keyRows)).update(tokenizerBytes).digest("hex");
}

/** An array, so that each has its place whatever its name becomes. */
function relevantNumbers(config: ModelConfig): (number | string)[] {
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
