/** Keys and values of the decoder's blocks as they pass between graphs, by the names that graphs give them. */

import type { ModelConfig } from "../model/config.ts";
import type { KeyValue } from "./decoder.ts";

/** Of the cross-attention over passages, or of the self-attention over the tokens written before. */
export type Attended = "cross" | "past";

/** `KIND.N.key` and `KIND.N.value` of every decoder block N, each as `make` makes it. */
export function mapBlocks<V>(
  { decoderLayers }: ModelConfig,
  kind: Attended,
  make: () => V,
): Record<string, V> {
  const blocks = Array.from({ length: decoderLayers }, (_, i) => [
    `${kind}.${i}.key`,
    `${kind}.${i}.value`,
  ]);
  return Object.fromEntries(blocks.flat().map((name) => [name, make()]));
}

/** The blocks' keys and values under their names. */
export function named<T>(kind: Attended, blocks: readonly KeyValue<T>[]): Record<string, T> {
  return Object.fromEntries(
    blocks.flatMap(({ key, value }, i) => [
      [`${kind}.${i}.key`, key],
      [`${kind}.${i}.value`, value],
    ]),
  );
}
