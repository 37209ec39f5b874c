/** Names of the decoder's keys and values of tokens, as they pass from one step to the next. */

import type { ModelConfig } from "../model/config.ts";
import type { KeyValue } from "./decoder.ts";

/** `past.N.key` and `past.N.value` of each decoder block N, with a value from `make`. */
export function mapBlocks<V>({ decoder }: ModelConfig, make: () => V): Record<string, V> {
  const blocks = Array.from({ length: decoder.layers }, (_, i) => namesOf(i));
  return Object.fromEntries(blocks.flat().map((name) => [name, make()]));
}

/** The keys and values of all blocks by name. */
export function named<T>(blocks: readonly KeyValue<T>[]): Record<string, T> {
  return Object.fromEntries(
    blocks.flatMap(({ key, value }, i) => {
      const [ofKey, ofValue] = namesOf(i);
      return [
        [ofKey, key],
        [ofValue, value],
      ];
    }),
  );
}

/** The keys and values of all blocks from their names: the inverse of {@link named}. */
export function fromNames<T>(
  { decoder }: ModelConfig,
  values: Readonly<Record<string, T>>,
): KeyValue<T>[] {
  return Array.from({ length: decoder.layers }, (_, i) => {
    const [ofKey, ofValue] = namesOf(i);
    return { key: values[ofKey]!, value: values[ofValue]! };
  });
}

const namesOf = (block: number): [string, string] => [`past.${block}.key`, `past.${block}.value`];
