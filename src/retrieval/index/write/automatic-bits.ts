/**
 * The default number of bits of a key. A codebook needs enough keys to learn from, and takes space
 * itself. So a small index keeps float32 keys, and an addition that makes it larger compresses it.
 * docs/experiments/index-quality.md has the measurements behind all numbers.
 */

import type { Bits } from "../../codec/codec.ts";
import type { CodecRecord, IndexHeader } from "../format/manifest.ts";

/** Values of a token's key from which two bits for each lose nothing. */
const MANY_VALUES = 192;

/** The least number of keys that are compressed: 256 for each codeword. */
export const COMPRESSED_TOKENS = 65_536;

/** Bits as an option: `automatic` chooses by the size of the index, undefined is float32. */
export type BitsOption = Bits | "automatic" | undefined;

/** The option of the library and the command line. Shards have float32 keys. */
export function bitsOption({
  bits,
  shard,
}: {
  readonly bits?: Bits | 32 | undefined;
  readonly shard?: object | undefined;
}): BitsOption {
  if (bits === 32) return undefined;
  return bits ?? (shard ? undefined : "automatic");
}

/** The bits of an index with this number of keys; undefined for float32. */
export function bitsFor(
  bits: BitsOption,
  tokens: number,
  { dimension, pooling }: Pick<IndexHeader, "dimension" | "pooling">,
): Bits | undefined {
  if (bits !== "automatic") return bits;
  if (tokens < COMPRESSED_TOKENS) return undefined;
  return pooling === undefined && dimension >= MANY_VALUES ? 2 : 4;
}

/** The codec of an index of float32 keys. */
export const float32Record = (bits: BitsOption): CodecRecord => ({
  name: "float32",
  ...(bits === "automatic" && { bits }),
});
