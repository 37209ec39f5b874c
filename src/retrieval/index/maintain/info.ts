/** Summarises an index from its manifest. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Bits } from "../../codec/codec.ts";
import {
  type CutText,
  type IndexHeader,
  manifestPath,
  readManifest,
  type SegmentRecord,
  type ShardRecord,
  type StatesHeader,
  segmentPath,
} from "../format/manifest.ts";
import { stateBytes } from "../format/packed-states.ts";
import { WORDS_FILE } from "../format/words-file.ts";

export interface IndexInfo {
  /** 1 for the first generation of the index; each change adds 1. */
  readonly generation: number;
  /** What its keys belong to: the model, the lengths of texts and vectors, the prompts. */
  readonly header: IndexHeader;
  /** Bits for each dimension; 32 if keys are not compressed. */
  readonly bits: Bits | 32;
  /** The number of centroids of a compressed index. */
  readonly centroids?: number | undefined;
  /** Which shard of a build it is; undefined for a whole index. */
  readonly shard?: ShardRecord | undefined;
  /** Parts that additions have made; compaction joins them. */
  readonly segments: number;
  /** Passages that are not deleted. */
  readonly passages: number;
  /** Keys of all passages that are not deleted. */
  readonly tokens: number;
  /** Passages that are longer than `header.maxPassageTokens`, and their tokens without keys. */
  readonly cut: CutText;
  /** Deleted passages that still take space; compaction removes them. */
  readonly deletedPassages: number;
  /** The states for reading; undefined if the index holds none. */
  readonly states?: StatesInfo | undefined;
  /** The parts of the import into a store; undefined of an index in a folder. */
  readonly parts?: readonly ImportPart[] | undefined;
  /** Size of all files, or of the tables of a store. */
  readonly bytes: number;
}

/** A part of an import into a store (`index --part`). */
export interface ImportPart extends ShardRecord {
  /** Whether all its passages are in the store. */
  readonly finished: boolean;
}

export interface StatesInfo {
  /** Tokens of all passages, also those without a key and those of deleted passages. */
  readonly tokens: number;
  /** Bytes that the states of a token take. */
  readonly bytesPerToken: number;
}

/** Reads the manifest of the index in `directory`. */
export async function folderInfo(directory: string): Promise<IndexInfo> {
  const { generation, header, codec, shard, segments } = await readManifest(directory);
  const files = segments.flatMap(({ files, deleted }) => [
    ...Object.values(files),
    ...(deleted ? [deleted] : []),
  ]);
  const compressed = codec.name === "quantised" ? codec : undefined;
  const all = [...files, ...Object.values(compressed?.files ?? {})];
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  const deletedPassages = sum(segments.map(({ deleted }) => deleted?.passages ?? 0));
  return {
    generation,
    header,
    bits: compressed?.bits ?? 32,
    centroids: compressed && compressed.files["centroids.f32"]!.bytes / (4 * header.dimension),
    shard,
    segments: segments.length,
    passages: sum(segments.map(({ passages }) => passages)) - deletedPassages,
    tokens: sum(segments.map(({ tokens, deleted }) => tokens - (deleted?.tokens ?? 0))),
    cut: {
      passages: sum(segments.map((one) => cutOf(one).passages)),
      tokens: sum(segments.map((one) => cutOf(one).tokens)),
    },
    deletedPassages,
    states: header.states && statesInfo(segments, header.states),
    bytes:
      sum(all.map(({ bytes }) => bytes)) +
      sum(await Promise.all(segments.map((segment) => wordsBytes(directory, segment)))) +
      (await stat(manifestPath(directory))).size,
  };
}

const wordsBytes = (directory: string, { name }: SegmentRecord): Promise<number> =>
  stat(join(segmentPath(directory, name), WORDS_FILE)).then(
    ({ size }) => size,
    () => 0, // the manifest does not name it
  );

function statesInfo(segments: readonly SegmentRecord[], { size }: StatesHeader): StatesInfo {
  const bytesPerToken = stateBytes(size);
  const bytes = segments.reduce((sum, { files }) => sum + files["states.bin"]!.bytes, 0);
  return { tokens: bytes / bytesPerToken, bytesPerToken };
}

/** The cut text of the passages of a segment that are not deleted. */
const cutOf = ({ cut, deleted }: SegmentRecord): CutText => ({
  passages: (cut?.passages ?? 0) - (deleted?.cut?.passages ?? 0),
  tokens: (cut?.tokens ?? 0) - (deleted?.cut?.tokens ?? 0),
});
