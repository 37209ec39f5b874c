/** Changes an index passage by passage: add, replace, delete. Readers keep the state that they opened. */

import { join } from "node:path";
import { InputError } from "../../../io/errors.ts";
import type { Passage } from "../../../text/passage.ts";
import type { KeyDecoder } from "../../codec/codec.ts";
import { BlockCache } from "../format/blocks.ts";
import { readCodec, type StoredCodebook } from "../format/codebook-file.ts";
import {
  type IndexHeader,
  type Manifest,
  type SegmentRecord,
  segmentPath,
} from "../format/manifest.ts";
import { recordOf, writeParts } from "../format/new-files.ts";
import { openSegment, readDeleted, type Segment } from "../format/segment.ts";
import { openSegments } from "../format/snapshot.ts";
import { writing } from "../format/storage.ts";
import { type BuildOptions, compressStage, openStage, writeSegment } from "../write/build.ts";
import { copySegments, passageRanges } from "../write/copy.ts";
import { addedName, runTransaction, stageName } from "../write/transaction.ts";

/** Bytes of id tables that are kept while ids are looked up. */
const CACHE_BYTES = 67_108_864;

/**
 * Adds passages to the index in `directory`. A passage whose id is there already takes the place of the old one. The new
 * ones come last in the order of the index. Interrupted, the same call goes on where it stopped.
 * Throws `InputError` where there is no index, or one of another model.
 */
export async function addPassages(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  options: Omit<BuildOptions, "bits" | "shard">,
): Promise<void> {
  const { directory, header, signal } = options;
  await runTransaction(directory, {}, async (current, name) => {
    const manifest = existing(directory, current);
    checkHeader(directory, manifest.header, header);
    const codec = await readCodec(directory, manifest);
    const stage = await writeSegment(segmentPath(directory, stageName(name)), passages, options);
    return writing(directory, async () => {
      const added = codec.codebook
        ? await compressAdded(
            stage,
            name,
            { codec: manifest.codec, codebook: codec.codebook },
            options,
          )
        : stage;
      await using segment = await openSegment(segmentPath(directory, added.name), added, codec);
      const { segments } = await withoutIds(
        directory,
        manifest,
        name,
        codec.decoder,
        idsOf(segment),
      );
      const joined = joinedTail(segments, added.passages);
      await using tail = await openSegments([{ directory, segments: joined }], codec);
      const ranges = [...tail.segments, segment].flatMap(passageRanges);
      const last = await copySegments(ranges, segmentPath(directory, name), codec, signal);
      return {
        ...manifest,
        segments: [...segments.slice(0, segments.length - joined.length), last],
      };
    });
  });
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
 * The last segments that become one with `added` new passages: as long as one is no larger than what comes after it. So
 * sizes at least double from the last segment to the first, there are log2(passages) at most, and a passage is copied as often.
 */
function joinedTail(segments: readonly SegmentRecord[], added: number): SegmentRecord[] {
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

/** Deletes the passages with these ids. Returns how many there were; unknown ids are passed over. */
export async function deletePassages(
  ids: AsyncIterable<string> | Iterable<string>,
  { directory }: { readonly directory: string },
): Promise<number> {
  let count = 0;
  await runTransaction(directory, {}, async (current, name) => {
    const manifest = existing(directory, current);
    const { decoder } = await readCodec(directory, manifest);
    const { segments, deleted } = await writing(directory, () =>
      withoutIds(directory, manifest, name, decoder, ids),
    );
    count = deleted;
    return { ...manifest, segments };
  });
  return count;
}

/** The segments of `manifest` without the passages of these ids. Segments that lose their last passage are left out. */
async function withoutIds(
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
    segments.push(await withoutOrdinals(directory, segment, found[i]!, name));
  return {
    segments: segments.filter(({ passages, deleted }) => passages > (deleted?.passages ?? 0)),
    deleted: found.reduce((sum, { size }) => sum + size, 0),
  };
}

async function withoutOrdinals(
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
  for (const ordinal of ordinals) {
    bits[ordinal >>> 3]! |= 1 << (ordinal & 7);
    const [start, end] = (await segment.tokenStarts(ordinal, 1)) as [number, number];
    tokens += end - start;
  }
  const file = `deleted-${name}.bits`;
  const written = recordOf(await writeParts(join(path, file), [bits]));
  const passages = (record.deleted?.passages ?? 0) + ordinals.size;
  return { ...record, deleted: { file, ...written, passages, tokens } };
}

async function* idsOf(segment: Segment): AsyncGenerator<string> {
  for (let ordinal = 0; ordinal < segment.record.passages; ordinal++)
    yield (await segment.passage(ordinal)).id;
}

/** The manifest of an index that must be there to be changed. */
export function existing(directory: string, manifest: Manifest | undefined): Manifest {
  if (manifest) return manifest;
  throw new InputError({
    where: directory,
    expected: "an index",
    got: "no index.json",
    remedy: "build the index first",
  });
}

/** Keys of different models, or cut at different lengths, do not belong in one index. */
export function checkHeader(directory: string, of: IndexHeader, given: IndexHeader): void {
  for (const key of [
    "fingerprint",
    "dimension",
    "maxPassageTokens",
    "keepTokens",
    "prompts",
  ] as const) {
    const [expected, got] = [JSON.stringify(of[key]), JSON.stringify(given[key])];
    if (expected !== got)
      throw new InputError({
        where: directory,
        expected: `passages encoded with ${key} ${expected}`,
        got,
        remedy: "use the model and the options that made the index, or build it again",
      });
  }
}
