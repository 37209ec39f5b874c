/** Compaction of an index, and merging of shards. */

import { InputError } from "../../../io/errors.ts";
import { excerpt } from "../../../io/excerpt.ts";
import { checkPath } from "../../../options/arguments.ts";
import { DIRECTORY, INDEX_OPTIONS, WRITE_OPTIONS } from "../../../options/library-options.ts";
import { callback, type Given, SIGNAL } from "../../../options/option.ts";
import { resolveOptions } from "../../../options/resolve.ts";
import { checkBits, float32Decoder } from "../../codec/codec.ts";
import { reading, writing } from "../blocks/storage.ts";
import { readCodec } from "../format/codebook-file.ts";
import { type Manifest, readManifest, segmentPath } from "../format/manifest.ts";
import { openSegments, openSnapshot } from "../format/snapshot.ts";
import { bitsOption, float32Record } from "../write/automatic-bits.ts";
import { type BuildProgress, finishStage } from "../write/build.ts";
import { copySegments, passageRanges } from "../write/copy.ts";
import { checkReplaceable, replaceIndex, stageName, updateIndex } from "../write/transaction.ts";
import { checkHeader } from "./update.ts";

/**
 * Writes the passages of all segments to one segment. Deleted and replaced passages then take no
 * space, and a search opens fewer files.
 *
 * The order of the passages stays; their ordinals change if passages were deleted before them. An
 * index of one segment without deletions gets its words if an earlier version made it, and nothing
 * else. An open index keeps its generation.
 *
 * @throws {InputError} if there is no index, if the system refuses to write, or if another process
 * writes the index
 * @example
 * ```ts
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { compactIndex, deletePassages, indexInfo, ReAtt } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const passages = [
 *   { id: "1", title: "Normandy", text: "Normandy is a region in France." },
 *   { id: "2", title: "Oxygen", text: "Oxygen is a chemical element." },
 * ];
 * const directory = await mkdtemp(join(tmpdir(), "reatt-"));
 * await using _ = await model.index(passages, { directory });
 * await deletePassages(["2"], { directory });
 * console.log((await indexInfo(directory)).deletedPassages); // 1
 * await compactIndex(directory);
 * console.log((await indexInfo(directory)).deletedPassages); // 0
 * ```
 */
export async function compactIndex(directory: string, options?: CompactOptions): Promise<void> {
  checkPath(directory, "directory");
  const { wait, signal } = resolveOptions(COMPACT, options);
  if (isCompact(await readManifest(directory)) && (await hasWords(directory))) return;
  await updateIndex(
    directory,
    async (manifest, name) => {
      if (isCompact(manifest)) return manifest; // the transaction writes the words
      const codec = await reading(directory, () => readCodec(directory, manifest));
      await using opened = await reading(directory, () =>
        openSegments([{ directory, segments: manifest.segments }], codec),
      );
      const ranges = opened.segments.flatMap(passageRanges);
      const to = segmentPath(directory, name);
      const segment = await writing(directory, () => copySegments(ranges, to, codec, signal));
      return { ...manifest, segments: [segment] };
    },
    { wait, signal },
  );
}

const isCompact = ({ segments }: Manifest): boolean =>
  segments.length <= 1 && !segments[0]?.deleted;

/** Whether the index has the words of its texts, which those of earlier versions do not have. */
async function hasWords(directory: string): Promise<boolean> {
  await using snapshot = await openSnapshot(directory);
  const words = await Promise.all(snapshot.segments.map((segment) => segment.words()));
  return words.every((of) => of !== undefined);
}

const COMPACT = { ...WRITE_OPTIONS, ...SIGNAL };

export interface CompactOptions
  extends Given<typeof WRITE_OPTIONS>,
    Given<typeof SIGNAL>,
    Given<typeof COMPACT> {}

const MERGE = {
  ...DIRECTORY,
  ...COMPACT,
  /** Bits for each dimension of the merged index. Default: as `ReAtt.index` chooses them. */
  bits: INDEX_OPTIONS.bits,
  /** Whether an index in the folder is replaced when the new one is complete. Default: false. */
  replace: INDEX_OPTIONS.replace,
  /** Receives the numbers of passages and tokens that are in the new index. */
  onProgress: callback<(progress: BuildProgress) => void>(),
};

export interface MergeOptions
  extends Given<typeof DIRECTORY>,
    CompactOptions,
    Given<typeof MERGE> {}

/**
 * Joins the shards of a build to one index. The result equals, byte by byte, that of a single
 * build.
 *
 * `shards` are the folders of the shards, in any order. They are not changed.
 *
 * @throws {InputError} if a shard is missing or given twice, if the shards belong to different
 * models, if `bits` does not fit the dimension, or if there is an index already
 * @example
 * ```ts
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { indexInfo, mergeShards, ReAtt } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const passages = Array.from({ length: 600 }, (_, i) => ({
 *   id: `${i}`,
 *   title: "",
 *   text: `Passage ${i}.`,
 * }));
 * const folder = await mkdtemp(join(tmpdir(), "reatt-"));
 * const shards = [join(folder, "a"), join(folder, "b")];
 * for (const [index, directory] of shards.entries()) {
 *   await using _ = await model.index(passages, { directory, shard: { index, count: 2 } });
 * }
 * const directory = join(folder, "whole");
 * await mergeShards(shards, { directory });
 * console.log((await indexInfo(directory)).passages); // 600
 * ```
 */
export async function mergeShards(shards: readonly string[], options: MergeOptions): Promise<void> {
  checkShards(shards);
  const settings = resolveOptions(MERGE, options);
  const { directory, replace, signal } = settings;
  const bits = bitsOption(settings);
  await checkReplaceable(directory, replace);
  const sources = await readShards(shards);
  const { header } = sources[0]!.manifest;
  if (typeof bits === "number") checkBits(bits, header.dimension);
  const float32 = { decoder: float32Decoder(header.dimension), codebook: undefined };
  await using opened = await reading(directory, () =>
    openSegments(
      sources.map(({ directory, manifest: { segments } }) => ({ directory, segments })),
      float32,
    ),
  );
  const ranges = interleave(opened.segments.map(passageRanges));
  await replaceIndex(
    directory,
    async (name) => {
      const to = segmentPath(directory, bits === undefined ? name : stageName(name));
      const segment = await writing(directory, () => copySegments(ranges, to, float32, signal));
      if (bits === undefined) return { header, codec: float32Record(bits), segments: [segment] };
      return finishStage(segment, name, bits, { ...settings, header });
    },
    settings,
  );
}

function checkShards(shards: unknown): void {
  if (!Array.isArray(shards) || shards.length === 0)
    throw new InputError({
      where: "shards",
      expected: "a list of the folders of all shards",
      got: excerpt(shards),
      remedy: "name every shard of one build, each once",
    });
  for (const [i, shard] of shards.entries()) checkPath(shard, `shards[${i}]`);
}

interface Source {
  readonly directory: string;
  readonly manifest: Manifest;
}

/** The shards, ordered by number. */
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
        got: shard ? `shard ${shard.index + 1} of ${shard.count}` : "an index that is not a shard",
        remedy: "name every shard of one build, each once",
      });
    checkHeader(directory, ordered[0]!.manifest.header, manifest.header);
  }
  return ordered;
}

/** The first item of each list, then the second of each, and so on. */
const interleave = <T>(lists: readonly (readonly T[])[]): T[] =>
  Array.from({ length: Math.max(...lists.map(({ length }) => length)) }, (_, i) =>
    lists.flatMap((list) => list.slice(i, i + 1)),
  ).flat();
