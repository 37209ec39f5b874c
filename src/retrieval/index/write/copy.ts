/**
 * Writes a segment from passages of other segments and copies their encoded keys. Compaction and
 * merging use it.
 */

import { basename, join } from "node:path";
import { createDirectory } from "../../../io/create-directory.ts";
import { InputError } from "../../../io/errors.ts";
import type { Codec } from "../../codec/codec.ts";
import type { Awaitable } from "../blocks/awaitable.ts";
import type { RunningChecksum } from "../blocks/blocks.ts";
import { IdHashTable } from "../format/id-hashes.ts";
import type { SegmentRecord } from "../format/manifest.ts";
import { completeSegment, withoutEmptyFiles, writeParts } from "../format/new-files.ts";
import { unpackCut } from "../format/packed-passage.ts";
import { fileOf, type Segment } from "../format/segment.ts";
import { writeLists } from "./compress.ts";
import { recordedCut } from "./segment-writer.ts";

/**
 * Passages that are encoded together: about 20 MB of keys. partial-window.ts keeps the keys of a
 * window that takes longer than a second.
 */
export const WINDOW = 512;

/** Consecutive passages of a segment. */
export interface PassageRange {
  readonly segment: Segment;
  readonly first: number;
  readonly count: number;
}

/** All passages of a segment, in ranges as long as the window of a build. */
export function passageRanges(segment: Segment): PassageRange[] {
  const { passages } = segment.record;
  return Array.from({ length: Math.ceil(passages / WINDOW) }, (_, i) => ({
    segment,
    first: i * WINDOW,
    count: Math.min(WINDOW, passages - i * WINDOW),
  }));
}

/** Pairs of first token and first byte: [passages + 1, 2], as in `offsets.u64`. */
type Offsets = bigint[];

/**
 * Writes the passages of `ranges` that are not deleted to `path`, in order. All segments have the
 * same codec. It needs about 40 bytes of memory a passage.
 *
 * @throws {InputError} for a duplicate id
 */
export async function copySegments(
  ranges: readonly PassageRange[],
  path: string,
  { decoder, codebook }: Codec,
  signal: AbortSignal | undefined,
): Promise<SegmentRecord> {
  await createDirectory(path);
  const ids = new IdHashTable();
  const offsets: Offsets = [0n, 0n];
  const cut = { passages: 0, tokens: 0 };
  const checksums: Record<string, RunningChecksum> = {};
  const write = async (name: string, parts: Parameters<typeof writeParts>[1]): Promise<void> => {
    checksums[name] = await writeParts(join(path, name), parts);
  };
  await write("passages.deflate", copyTexts(ranges, ids, offsets, cut, signal));
  await write("offsets.u64", [BigUint64Array.from(offsets)]);
  const copy = async (name: string, open: OpenParts): Promise<number[]> => {
    const ends = [0];
    await write(name, copyParts(ranges, open, ends, signal));
    return ends;
  };
  const writePositions = (name: string, ends: readonly number[]): Promise<void> =>
    write(name, [BigUint64Array.from(ends, BigInt)]);
  await writePositions("metadata.u64", await copy("metadata.json", fields));
  await writePositions("states.u64", await copy("states.bin", states));
  await write("ids.u64", [ids.sorted()]);
  const ends = await copy(decoder.file, keys);
  const passages = ends.length - 1;
  if (codebook) {
    await writePositions("codes.u64", ends);
    Object.assign(checksums, await writeLists(path, passages, codebook, signal));
  }
  return {
    name: basename(path),
    passages,
    tokens: Number(offsets.at(-2)),
    longestKey: ranges.reduce(
      (longest, { segment }) => Math.max(longest, segment.record.longestKey),
      0,
    ),
    ...recordedCut(cut),
    files: await completeSegment(path, withoutEmptyFiles(checksums)),
  };
}

async function* copyTexts(
  ranges: readonly PassageRange[],
  ids: IdHashTable,
  offsets: Offsets,
  cut: { passages: number; tokens: number },
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  for (const { segment, first, count } of ranges) {
    signal?.throwIfAborted();
    const starts = await segment.tokenStarts(first, count);
    for (let i = 0; i < count; i++) {
      if (!segment.isAlive(first + i)) continue;
      const packed = await segment.packedPassage(first + i);
      const { id, cutTokens } = unpackCut(packed, fileOf(segment, "passages.deflate"));
      if (ids.add(id).length > 0) throw duplicate(id);
      const tokens = BigInt(starts[i + 1]! - starts[i]!);
      offsets.push(offsets.at(-2)! + tokens, offsets.at(-1)! + BigInt(packed.length));
      if (cutTokens > 0) cut.passages++;
      cut.tokens += cutTokens;
      yield packed;
    }
  }
}

/** Opens one part of `count` passages from `first`. The result reads that of the i-th of them. */
type OpenParts = (
  segment: Segment,
  first: number,
  count: number,
) => Awaitable<(i: number) => Awaitable<Uint8Array>>;

/** Copies one part of each passage, and appends its end to `ends`. */
async function* copyParts(
  ranges: readonly PassageRange[],
  open: OpenParts,
  ends: number[],
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  for (const { segment, first, count } of ranges) {
    signal?.throwIfAborted();
    const partOf = await open(segment, first, count);
    for (let i = 0; i < count; i++) {
      if (!segment.isAlive(first + i)) continue;
      const part = await partOf(i);
      ends.push(ends.at(-1)! + part.length);
      yield part;
    }
  }
}

/** Document ids and metadata: small, so those of a range are read together. */
const fields: OpenParts = async (segment, first, count) => {
  const all = await segment.packedFields(first, count);
  return (i) => all[i]!;
};
const states: OpenParts = (segment, first) => (i) => segment.packedStates(first + i);
const keys: OpenParts = (segment, first) => (i) => segment.codes(first + i, 1);

/**
 * Also reports two different ids with the same hash, which 1 of 80,000 indexes with 21 million
 * passages contains.
 */
const duplicate = (id: string): InputError =>
  new InputError({
    where: "passages to join",
    expected: "each id once",
    got: `${JSON.stringify(id)} again`,
    remedy: "give every passage a unique id, and merge shards of one build",
  });
