/** What the search of a compressed index reads: codes and lists of its segments, by ordinal. */

import type { AllocateValues, KeyDecoder } from "../../codec/codec.ts";
import type { Rows } from "../blocks/rows.ts";
import type { KeyStore } from "./store.ts";

export interface CompressedSegment {
  readonly passages: number;
  readonly longestKey: number;
  /** The codes of each passage. */
  readonly codes: Rows;
  /** For each centroid, the encoded list of the passages with one of its keys (lists.ts). */
  readonly lists: Rows;
}

/** Provides memory for a number of bytes, at an address that is a multiple of 8. */
export type Allocate = (bytes: number) => Uint8Array;

/** The encoded lists of a segment (lists.ts) in memory. */
export interface EncodedLists {
  /** The file of the lists, for errors. */
  readonly path: string;
  /** The ordinal of the first passage of the segment. */
  readonly base: number;
  readonly passages: number;
  /** The range of each list in the memory: [lists, 2]. */
  readonly ranges: Uint32Array;
}

export interface CompressedStore
  extends Pick<KeyStore, "dimension" | "ordinalCount" | "longestKey"> {
  /** The keys of one passage, [tokens, dimension], in memory that `allocate` provides. */
  keys(ordinal: number, allocate?: AllocateValues): Promise<Float32Array>;
  /** Decodes keys from their codes: [tokens, dimension]. */
  readonly decode: KeyDecoder["decode"];
  /**
   * Copies the codes of passages to memory, and returns the range of each in it, [passages, 2].
   * `ordinals` are ascending.
   */
  codes(ordinals: Uint32Array, allocate: Allocate): Promise<Uint32Array>;
  /** Copies the list of each centroid in each segment to memory. */
  lists(centroids: ArrayLike<number>, allocate: Allocate): Promise<EncodedLists[]>;
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
    let first = 0;
    const parts = segments.map(({ codes, passages }, i): Part => {
      const base = bases[i]!;
      let end = first;
      while (end < ordinals.length && ordinals[end]! < base + passages) end++;
      const own = ordinals.subarray(first, end);
      first = end;
      return { rows: codes, numbers: own.map((ordinal) => ordinal - base) };
    });
    return copyRows(parts, allocate);
  };
  return {
    dimension,
    ordinalCount,
    longestKey: Math.max(0, ...segments.map(({ longestKey }) => longestKey)),
    codes,
    decode: decoder.decode,
    async keys(ordinal, allocateValues) {
      let memory = new Uint8Array();
      const [start, end] = await codes(Uint32Array.of(ordinal), (bytes) => {
        memory = new Uint8Array(bytes);
        return memory;
      });
      return decoder.decode(memory.subarray(start, end), allocateValues);
    },
    async lists(centroids, allocate) {
      const parts = segments.map(({ lists }): Part => ({ rows: lists, numbers: centroids }));
      const ranges = await copyRows(parts, allocate);
      const size = 2 * centroids.length;
      return segments.map(({ passages, lists }, i) => ({
        path: lists.path,
        base: bases[i]!,
        passages,
        ranges: ranges.subarray(i * size, (i + 1) * size),
      }));
    },
  };
}

/** Rows of a segment. */
interface Part {
  readonly rows: Rows;
  readonly numbers: ArrayLike<number>;
}

/**
 * V8 copies memory that threads share byte by byte, or by words of 8 bytes, if source and target
 * have the same place in a word.
 */
const WORD = 8;

/** Copies rows to memory, and returns the range of each in it, [rows, 2]. */
async function copyRows(parts: readonly Part[], allocate: Allocate): Promise<Uint32Array> {
  const inFiles: Float64Array[] = [];
  for (const { rows, numbers } of parts) inFiles.push(await rows.ranges(numbers));
  const ranges = new Uint32Array(inFiles.reduce((sum, { length }) => sum + length, 0));
  const inMemory: Uint32Array[] = [];
  let filled = 0;
  let bytes = 0;
  for (const file of inFiles) {
    const own = ranges.subarray(filled, filled + file.length);
    filled += file.length;
    inMemory.push(own);
    for (let i = 0; i < file.length; i += 2) {
      const start = bytes + (file[i]! % WORD);
      const end = start + file[i + 1]! - file[i]!;
      own[i] = start;
      own[i + 1] = end;
      bytes = WORD * Math.ceil(end / WORD);
    }
  }
  const memory = allocate(bytes);
  for (const [i, { rows }] of parts.entries()) await rows.copy(inFiles[i]!, memory, inMemory[i]!);
  return ranges;
}
