/** Updates of an index: adds, replaces and deletes passages. An open index keeps its generation. */

import { join } from "node:path";
import { InputError } from "../../../io/errors.ts";
import type { LockOptions } from "../../../io/lock.ts";
import { DIRECTORY, WRITE_OPTIONS } from "../../../options/library-options.ts";
import { type Given, SIGNAL } from "../../../options/option.ts";
import type { Passage } from "../../../text/passage.ts";
import { type Codec, float32Decoder, type KeyDecoder } from "../../codec/codec.ts";
import { BlockCache } from "../blocks/blocks.ts";
import { reading, writing } from "../blocks/storage.ts";
import { readCodec, type StoredCodebook } from "../format/codebook-file.ts";
import {
  type IndexHeader,
  type Manifest,
  type SegmentRecord,
  segmentPath,
} from "../format/manifest.ts";
import { recordOf, writeParts } from "../format/new-files.ts";
import { unpackCut } from "../format/packed-passage.ts";
import { fileOf, readDeleted, type Segment } from "../format/segment.ts";
import { openSegments } from "../format/snapshot.ts";
import { bitsFor } from "../write/automatic-bits.ts";
import {
  type BuildOptions,
  compressStage,
  finishStage,
  openStage,
  writeSegment,
} from "../write/build.ts";
import { copySegments, passageRanges } from "../write/copy.ts";
import { recordedCut } from "../write/segment-writer.ts";
import { addedName, type IndexState, stageName, updateIndex } from "../write/transaction.ts";
import { labelledRanges, type PassageLabel } from "./labels.ts";

/** Bytes of id tables that stay in memory during look-ups. */
const CACHE_BYTES = 67_108_864;

export interface UpdateOptions extends Omit<BuildOptions, "bits" | "shard"> {
  /** Ids of passages to delete in the same transaction. */
  readonly deleted?: readonly string[] | undefined;
  /** Passages that get another id or other fields in the same transaction, and stay encoded. */
  readonly labels?: readonly PassageLabel[] | undefined;
}

/**
 * Adds passages to the index in `directory`, at the end of its order. A passage replaces an
 * existing one with the same id. After an interruption, the same call resumes. Undefined: there
 * are only deletions and labels.
 *
 * @throws {InputError} if there is no index, or if another model or other options made it
 */
export async function addPassages(
  passages: AsyncIterable<Passage> | Iterable<Passage> | undefined,
  options: UpdateOptions,
): Promise<void> {
  const { directory, header } = options;
  await updateIndex(
    directory,
    async (manifest, name) => {
      checkHeader(directory, manifest.header, header);
      const codec = await reading(directory, () => readCodec(directory, manifest));
      const path = segmentPath(directory, stageName(name));
      const waiting = codec.codebook !== undefined;
      const stage = passages && (await writeSegment(path, passages, { ...options, waiting }));
      if (stage && outgrows(manifest, stage)) return compressGrown(manifest, name, stage, options);
      return writing(directory, async () => {
        const { codebook } = codec;
        const added =
          stage && codebook
            ? await compressAdded(stage, name, { codec: manifest.codec, codebook }, options)
            : stage;
        return appendSegment(manifest, name, added, codec, options);
      });
    },
    options,
  );
}

/**
 * Appends the segment `added` and the labelled passages to an index, without the passages that they
 * replace. Merges them with the last segments (`tailToMerge`).
 */
async function appendSegment(
  manifest: Manifest,
  name: string,
  added: SegmentRecord | undefined,
  codec: Codec,
  { directory, deleted = [], labels = [], signal }: UpdateOptions,
): Promise<IndexState> {
  await using before = await openSegments([{ directory, segments: manifest.segments }], codec);
  const news = added ? [added] : [];
  await using opened = await openSegments([{ directory, segments: news }], codec);
  const ids = idsOf(opened.segments, deleted, labels);
  const { segments } = await deleteIds(directory, manifest, name, codec.decoder, ids);
  const joined = tailToMerge(segments, labels.length + (added?.passages ?? 0));
  await using tail = await openSegments([{ directory, segments: joined }], codec);
  const ranges = [
    ...tail.segments.flatMap(passageRanges),
    ...(await labelledRanges(before.segments, labels)),
    ...opened.segments.flatMap(passageRanges),
  ];
  const kept = segments.slice(0, segments.length - joined.length);
  if (ranges.length === 0) return { ...manifest, segments: kept };
  const last = await copySegments(ranges, segmentPath(directory, name), codec, signal);
  return { ...manifest, segments: [...kept, last] };
}

/** Whether an index with automatic bits has enough keys to compress when `added` is part of it. */
const outgrows = ({ codec, header, segments }: Manifest, added: SegmentRecord): boolean =>
  codec.name === "float32" &&
  bitsFor(
    codec.bits,
    segments.reduce((sum, { tokens, deleted }) => sum + tokens - (deleted?.tokens ?? 0), 0) +
      added.tokens,
    header,
  ) !== undefined;

/** Compresses all passages of an index, without those that `added` replaces, to one segment. */
async function compressGrown(
  manifest: Manifest,
  name: string,
  added: SegmentRecord,
  options: UpdateOptions,
): Promise<IndexState> {
  const { directory, header, deleted = [], labels = [], signal } = options;
  const codec: Codec = { decoder: float32Decoder(header.dimension), codebook: undefined };
  const joined = await writing(directory, async () => {
    await using before = await openSegments([{ directory, segments: manifest.segments }], codec);
    await using stage = await openStage(directory, added, header.dimension);
    const ids = idsOf([stage], deleted, labels);
    const { segments } = await deleteIds(directory, manifest, name, codec.decoder, ids);
    await using old = await openSegments([{ directory, segments }], codec);
    const ranges = [
      ...old.segments.flatMap(passageRanges),
      ...(await labelledRanges(before.segments, labels)),
      ...passageRanges(stage),
    ];
    return await copySegments(ranges, segmentPath(directory, addedName(name)), codec, signal);
  });
  return finishStage(joined, name, "automatic", { ...options, header: manifest.header });
}

async function compressAdded(
  record: SegmentRecord,
  name: string,
  stored: StoredCodebook,
  options: Omit<BuildOptions, "bits" | "shard">,
): Promise<SegmentRecord> {
  await using stage = await openStage(options.directory, record, stored.codebook.dimension);
  return await compressStage(stage, addedName(name), stored, options);
}

/**
 * The last segments, which are merged with `added` new passages: as long as a segment is not larger
 * than all after it. So sizes at least double from the last segment to the first, an index has at
 * most log2(passages) segments, and a passage is copied as often.
 */
function tailToMerge(segments: readonly SegmentRecord[], added: number): SegmentRecord[] {
  let size = added;
  let first = segments.length;
  for (; first > 0; first--) {
    const { passages, deleted } = segments[first - 1]!;
    const alive = passages - (deleted?.passages ?? 0);
    if (alive > size) break;
    size += alive;
  }
  return segments.slice(first);
}

/** Options of `deletePassages`. */
export const DELETE = { ...DIRECTORY, ...WRITE_OPTIONS, ...SIGNAL };

export interface DeleteOptions
  extends Given<typeof DIRECTORY>,
    Given<typeof WRITE_OPTIONS>,
    Given<typeof SIGNAL>,
    Given<typeof DELETE> {}

/**
 * Deletes passages by id from the index in a folder.
 *
 * @returns the number of deleted passages
 */
export async function deleteFromFolder(
  ids: AsyncIterable<string> | Iterable<string>,
  options: LockOptions & { readonly directory: string },
): Promise<number> {
  const { directory } = options;
  let count = 0;
  await updateIndex(
    directory,
    async (manifest, name) => {
      const { decoder } = await reading(directory, () => readCodec(directory, manifest));
      const { segments, deleted } = await writing(directory, () =>
        deleteIds(directory, manifest, name, decoder, ids),
      );
      count = deleted;
      return { ...manifest, segments };
    },
    options,
  );
  return count;
}

/**
 * The segments of `manifest` without the passages of these ids. Segments without remaining passages
 * are omitted.
 */
async function deleteIds(
  directory: string,
  manifest: Manifest,
  name: string,
  decoder: KeyDecoder,
  ids: AsyncIterable<string> | Iterable<string>,
): Promise<{ segments: SegmentRecord[]; deleted: number }> {
  await using opened = await openSegments([{ directory, segments: manifest.segments }], {
    decoder,
    cache: new BlockCache(CACHE_BYTES),
  });
  const found = opened.segments.map(() => new Set<number>());
  for await (const id of ids)
    for (const [i, segment] of opened.segments.entries()) {
      const ordinal = await segment.find(id);
      if (ordinal !== undefined && segment.isAlive(ordinal)) found[i]!.add(ordinal);
    }
  const segments = [];
  for (const [i, segment] of opened.segments.entries())
    segments.push(await markDeleted(directory, segment, found[i]!, name));
  return {
    segments: segments.filter(({ passages, deleted }) => passages > (deleted?.passages ?? 0)),
    deleted: found.reduce((sum, { size }) => sum + size, 0),
  };
}

async function markDeleted(
  directory: string,
  segment: Segment,
  ordinals: ReadonlySet<number>,
  name: string,
): Promise<SegmentRecord> {
  const { record } = segment;
  if (ordinals.size === 0) return record;
  const path = segmentPath(directory, record.name);
  const bits = new Uint8Array(Math.ceil(record.passages / 8));
  bits.set(await readDeleted(path, record));
  let tokens = record.deleted?.tokens ?? 0;
  const cut = { passages: 0, tokens: 0, ...record.deleted?.cut };
  for (const ordinal of ordinals) {
    bits[ordinal >>> 3]! |= 1 << (ordinal & 7);
    const [start, end] = (await segment.tokenStarts(ordinal, 1)) as [number, number];
    tokens += end - start;
    if (!record.cut) continue;
    const { cutTokens } = unpackCut(
      await segment.packedPassage(ordinal),
      fileOf(segment, "passages.deflate"),
    );
    if (cutTokens > 0) cut.passages++;
    cut.tokens += cutTokens;
  }
  const file = `deleted-${name}.bits`;
  const written = recordOf(await writeParts(join(path, file), [bits]));
  const passages = (record.deleted?.passages ?? 0) + ordinals.size;
  return { ...record, deleted: { file, ...written, passages, tokens, ...recordedCut(cut) } };
}

/** The ids that an update replaces or deletes. */
async function* idsOf(
  added: readonly Segment[],
  deleted: readonly string[],
  labels: readonly PassageLabel[],
): AsyncGenerator<string> {
  yield* deleted;
  for (const { id } of labels) yield id;
  for (const segment of added)
    for (let ordinal = 0; ordinal < segment.record.passages; ordinal++)
      yield (await segment.passage(ordinal)).id;
}

/**
 * @throws {InputError} if the headers differ: one index cannot hold keys of different models or
 * options
 */
export function checkHeader(directory: string, of: IndexHeader, given: IndexHeader): void {
  for (const key of [
    "fingerprint",
    "dimension",
    "maxPassageTokens",
    "keepTokens",
    "pruning",
    "pooling",
    "states",
    "prompts",
  ] as const) {
    const [expected, got] = [of, given].map((one) => JSON.stringify(one[key]) ?? "none") as [
      string,
      string,
    ];
    if (expected !== got)
      throw new InputError({
        where: directory,
        expected: `passages encoded with ${key} ${expected}`,
        got,
        remedy: "use the model and the options that made the index, or build it again",
      });
  }
}
