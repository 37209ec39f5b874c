/** What an index says of itself, from its manifest alone. */

import { stat } from "node:fs/promises";
import type { Bits } from "../../codec/codec.ts";
import {
  type IndexHeader,
  manifestPath,
  readManifest,
  type ShardRecord,
} from "../format/manifest.ts";

export interface IndexInfo {
  readonly generation: number;
  readonly header: IndexHeader;
  /** Bits a dimension; 32 where keys are not compressed. */
  readonly bits: Bits | 32;
  /** Of a compressed index. */
  readonly centroids?: number | undefined;
  readonly shard?: ShardRecord | undefined;
  readonly segments: number;
  /** Alive. */
  readonly passages: number;
  readonly tokens: number;
  /** That still take space: compaction frees it. */
  readonly deletedPassages: number;
  /** Of all files. */
  readonly bytes: number;
}

/** Throws `InputError` where there is no index or its manifest is damaged. */
export async function indexInfo(directory: string): Promise<IndexInfo> {
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
    deletedPassages,
    bytes: sum(all.map(({ bytes }) => bytes)) + (await stat(manifestPath(directory))).size,
  };
}
