/** Names of the decoder's keys and values, as they pass between graphs. */

import type { ModelConfig } from "../model/config.ts";
import type { KeyValue } from "./decoder.ts";

/** Cross-attention over the passages, or self-attention over the tokens generated before. */
export type Attended = "cross" | "past";

/** `KIND.N.key` and `KIND.N.value` of each decoder block N, with a value from `make`. */
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

/** The keys and values of all blocks by name. */
export function named<T>(kind: Attended, blocks: readonly KeyValue<T>[]): Record<string, T> {
  return Object.fromEntries(
    blocks.flatMap(({ key, value }, i) => [
      [`${kind}.${i}.key`, key],
      [`${kind}.${i}.value`, value],
    ]),
  );
}

/** The keys and values of all blocks from their names: the inverse of {@link named}. */
export function fromNames<T>(
  { decoderLayers }: ModelConfig,
  kind: Attended,
  values: Readonly<Record<string, T>>,
): KeyValue<T>[] {
  return Array.from({ length: decoderLayers }, (_, i) => ({
    key: values[`${kind}.${i}.key`]!,
    value: values[`${kind}.${i}.value`]!,
  }));
}
