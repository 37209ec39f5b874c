/** What the search of a compressed index reads: codes and lists of its segments, by ordinal. */

import type { KeyDecoder } from "../../codec/codec.ts";
import { decodeLists } from "./lists.ts";
import type { Rows } from "./rows.ts";
import type { KeyStore } from "./store.ts";

export interface CompressedSegment {
  readonly passages: number;
  readonly longestKey: number;
  /** The codes of each passage. */
  readonly codes: Rows;
  /** For each centroid, the encoded list of the passages with one of its keys (lists.ts). */
  readonly lists: Rows;
}

export interface CompressedStore
  extends Pick<KeyStore, "dimension" | "ordinalCount" | "longestKey" | "keys"> {
  /**
   * Copies the codes of passages, one after the other, to memory that `allocate` gives for their
   * lengths. `ordinals` are ascending.
   */
  codes(ordinals: Uint32Array, allocate: (lengths: Uint32Array) => Uint8Array): Promise<void>;
  /** For each centroid, the ordinals of the passages with one of its keys, ascending. */
  lists(centroids: readonly number[]): Promise<Uint32Array[]>;
}

export function openCompressedStore(
  segments: readonly CompressedSegment[],
  dimension: number,
  decoder: KeyDecoder,
): CompressedStore {
  const bases: number[] = [];
  let ordinalCount = 0;
  for (const { passages } of segments) {
    bases.push(ordinalCount);
    ordinalCount += passages;
  }
  const codes: CompressedStore["codes"] = async (ordinals, allocate) => {
    const parts: { codes: Rows; ranges: Float64Array }[] = [];
    for (const [i, { codes, passages }] of segments.entries()) {
      const base = bases[i]!;
      const own = ordinals.filter((ordinal) => ordinal >= base && ordinal < base + passages);
      parts.push({ codes, ranges: await codes.ranges(own.map((ordinal) => ordinal - base)) });
    }
    const lengths = Uint32Array.from(parts.flatMap(({ ranges }) => lengthsOf(ranges)));
    const target = allocate(lengths);
    let start = 0;
    for (const { codes, ranges } of parts) {
      const bytes = lengthsOf(ranges).reduce((sum, length) => sum + length, 0);
      await codes.copy(ranges, target.subarray(start, start + bytes));
      start += bytes;
    }
  };
  return {
    dimension,
    ordinalCount,
    longestKey: Math.max(0, ...segments.map(({ longestKey }) => longestKey)),
    codes,
    async keys(ordinal) {
      let all = new Uint8Array();
      await codes(Uint32Array.of(ordinal), ([length]) => {
        all = new Uint8Array(length!);
        return all;
      });
      return decoder.decode(all);
    },
    async lists(centroids) {
      const parts: Uint8Array[][] = [];
      for (const { lists } of segments) {
        const ranges = await lists.ranges(centroids);
        const lengths = lengthsOf(ranges);
        const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
        await lists.copy(ranges, bytes);
        parts.push(cut(bytes, lengths));
      }
      return centroids.map((_, i) =>
        decodeLists(
          parts.map((lists) => lists[i]!),
          bases,
        ),
      );
    },
  };
}

/** The length of each range. */
const lengthsOf = (ranges: Float64Array): number[] =>
  Array.from({ length: ranges.length / 2 }, (_, i) => ranges[2 * i + 1]! - ranges[2 * i]!);

/** Cuts `bytes` into parts of these lengths. */
function cut(bytes: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  let end = 0;
  return lengths.map((length) => {
    end += length;
    return bytes.subarray(end - length, end);
  });
}
