/** Tends an index as a whole: compaction, and joining shards that were built apart. */

import { InputError } from "../../../io/errors.ts";
import { type Bits, checkBits, float32Decoder } from "../../codec/codec.ts";
import { readCodec } from "../format/codebook-file.ts";
import { type Manifest, readManifest, segmentPath } from "../format/manifest.ts";
import { openSegments } from "../format/snapshot.ts";
import { writing } from "../format/storage.ts";
import { type BuildProgress, compressWhole } from "../write/build.ts";
import { copySegments, passageRanges } from "../write/copy.ts";
import { runTransaction, stageName } from "../write/transaction.ts";
import { checkHeader, existing } from "./update.ts";

/**
 * Writes the living passages of all segments to one: what was deleted or replaced takes no more space, and a search opens
 * fewer files. The order of the passages stays, their ordinals close up. Does nothing where there is nothing to gain.
 */
export async function compactIndex({
  directory,
  signal,
}: {
  readonly directory: string;
  readonly signal?: AbortSignal | undefined;
}): Promise<void> {
  const { segments } = await readManifest(directory);
  if (segments.length <= 1 && !segments[0]?.deleted) return;
  await runTransaction(directory, {}, async (current, name) => {
    const manifest = existing(directory, current);
    const codec = await readCodec(directory, manifest);
    await using opened = await openSegments([{ directory, segments: manifest.segments }], codec);
    const ranges = opened.segments.flatMap(passageRanges);
    const to = segmentPath(directory, name);
    const segment = await writing(directory, () => copySegments(ranges, to, codec, signal));
    return { ...manifest, segments: [segment] };
  });
}

export interface MergeOptions {
  /** Where the whole index will be. */
  readonly directory: string;
  /** Compresses the whole. */
  readonly bits?: Bits | undefined;
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Joins the shards of a build. The result equals, byte by byte, what a single build would have made of the same keys.
 * Throws `InputError` where a shard is missing, comes twice, or is of another model.
 */
export async function mergeShards(shards: readonly string[], options: MergeOptions): Promise<void> {
  const { directory, bits, signal } = options;
  const sources = await readShards(shards);
  const { header } = sources[0]!.manifest;
  if (bits !== undefined) checkBits(bits, header.dimension);
  const float32 = { decoder: float32Decoder(header.dimension), codebook: undefined };
  await using opened = await openSegments(
    sources.map(({ directory, manifest: { segments } }) => ({ directory, segments })),
    float32,
  );
  const ranges = interleave(opened.segments.map(passageRanges));
  await runTransaction(directory, { replaceDamaged: true }, async (_, name) => {
    const to = segmentPath(directory, bits === undefined ? name : stageName(name));
    const segment = await writing(directory, () => copySegments(ranges, to, float32, signal));
    if (bits === undefined) return { header, codec: { name: "float32" }, segments: [segment] };
    return compressWhole(segment, name, bits, { ...options, header });
  });
}

interface Source {
  readonly directory: string;
  readonly manifest: Manifest;
}

/** The shards in the order of their numbers. */
async function readShards(directories: readonly string[]): Promise<Source[]> {
  const sources = await Promise.all(
    directories.map(async (directory) => ({ directory, manifest: await readManifest(directory) })),
  );
  const ordered = sources.sort(
    (a, b) => (a.manifest.shard?.index ?? 0) - (b.manifest.shard?.index ?? 0),
  );
  for (const [i, { directory, manifest }] of ordered.entries()) {
    const { shard, segments, codec } = manifest;
    if (
      shard?.index !== i ||
      shard.count !== ordered.length ||
      segments.length !== 1 ||
      codec.name !== "float32"
    )
      throw new InputError({
        where: directory,
        expected: `shard ${i + 1} of ${ordered.length}`,
        got: shard ? `shard ${shard.index + 1} of ${shard.count}` : "an index that is no shard",
        remedy: "name every shard of one build, each once",
      });
    checkHeader(directory, ordered[0]!.manifest.header, manifest.header);
  }
  return ordered;
}

/** The first of each, the second of each, and so on. */
const interleave = <T>(lists: readonly (readonly T[])[]): T[] =>
  Array.from({ length: Math.max(...lists.map(({ length }) => length)) }, (_, i) =>
    lists.flatMap((list) => list.slice(i, i + 1)),
  ).flat();
