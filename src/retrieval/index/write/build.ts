/** Builds a token index from a stream of passages. The format, and why a crash cannot break it, is in manifest.ts. */

import { createHash } from "node:crypto";
import { InputError } from "../../../io/errors.ts";
import type { Passage } from "../../../text/passage.ts";
import { type Bits, checkBits, float32Decoder } from "../../codec/codec.ts";
import { findCodebook, type StoredCodebook, writeCodebook } from "../format/codebook-file.ts";
import { IdHashTable } from "../format/id-hashes.ts";
import {
  type IndexHeader,
  type SegmentRecord,
  type ShardRecord,
  segmentPath,
} from "../format/manifest.ts";
import { openSegment, type Segment } from "../format/segment.ts";
import { writing } from "../format/storage.ts";
import { compressSegment, learnCodebook } from "./compress.ts";
import { type BuildPlan, openSegmentWriter, type SegmentWriter } from "./segment-writer.ts";
import { type NextState, runTransaction, stageName } from "./transaction.ts";

/** Passages that are encoded together and made durable together: some seconds of work, some 20 MB of keys. */
export const WINDOW = 512;

export interface BuildOptions {
  /** Where the index will be. One that is there already is replaced when the new one is whole. */
  readonly directory: string;
  readonly header: IndexHeader;
  /** The token keys of each passage, [tokens, dimension], one token at least. May say meanwhile how many are done. */
  readonly encode: (
    passages: readonly Passage[],
    onProgress: (passages: number, tokens: number) => void,
  ) => Promise<readonly Float32Array[]>;
  /** Compresses keys to so many bits a dimension; until all are there they take 4 bytes a dimension. Default: no compression. */
  readonly bits?: Bits | undefined;
  /** Takes only every `count`-th window of 512 passages, from window `index` on (from 0); maintain.ts joins the shards. */
  readonly shard?: ShardRecord | undefined;
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface BuildProgress {
  /**
   * - `resumed`: an interrupted build left `passages` passages that need not be encoded again (once, at the start)
   * - `diverged`: of these only the first `passages` are the same in this corpus; it goes on from there
   * - `reused`, `encoded`: so many passages are done; those of a window that is interrupted are encoded again
   * - `compressed`: so many passages are compressed, first those that an interrupted build left; 0 while a codebook is learned
   * - `finished`: the new index has taken its place
   */
  readonly event: "resumed" | "diverged" | "reused" | "encoded" | "compressed" | "finished";
  readonly passages: number;
  readonly tokens: number;
}

/**
 * Encodes `passages` and writes them as the index in `directory`, in memory bounded by a window of 512 passages and
 * 24 bytes a passage for the ids.
 *
 * Interrupted at any moment (`signal`, a crash, a full disk), the same call goes on where it stopped: passages already
 * encoded are read and compared, not encoded again, and what is compressed is not compressed again. Throws `InputError` for duplicate ids, an empty stream, a disk that
 * refuses, another writer; what was whole before stays whole.
 */
export async function buildIndex(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  options: BuildOptions,
): Promise<void> {
  const { directory, header, bits, shard } = options;
  if (bits !== undefined) checkBits(bits, header.dimension);
  if (bits !== undefined && shard) throw compressedShard();
  const { segments } = await runTransaction(
    directory,
    { replaceDamaged: true },
    async (_, name) => {
      const written = bits === undefined ? name : stageName(name);
      const segment = await writeSegment(segmentPath(directory, written), passages, options);
      if (bits === undefined)
        return { header, codec: { name: "float32" }, shard, segments: [segment] };
      return { shard, ...(await compressWhole(segment, name, bits, options)) };
    },
  );
  const { passages: count, tokens } = segments[0]!;
  options.onProgress?.({ event: "finished", passages: count, tokens });
}

type CompressOptions = Pick<BuildOptions, "directory" | "header" | "onProgress" | "signal">;

/**
 * The state of an index whose only segment is `staged`, compressed with a codebook of its own. Goes on with what an interrupted
 * call for the same keys and bits left.
 */
export function compressWhole(
  staged: SegmentRecord,
  name: string,
  bits: Bits,
  options: CompressOptions,
): Promise<NextState> {
  const { directory, header } = options;
  return writing(directory, async () => {
    await using stage = await openStage(directory, staged, header.dimension);
    const stored = await codebookFor(stage, name, bits, options);
    return {
      header,
      codec: stored.codec,
      segments: [await compressStage(stage, name, stored, options)],
    };
  });
}

async function codebookFor(
  stage: Segment,
  name: string,
  bits: Bits,
  { directory, header: { dimension }, onProgress, signal }: CompressOptions,
): Promise<StoredCodebook> {
  const plan = { stage: stage.record.files, bits };
  const found = await findCodebook(directory, name, dimension, plan);
  if (found) return found;
  onProgress?.({ event: "compressed", passages: 0, tokens: stage.record.tokens });
  const codebook = await learnCodebook(stage, dimension, bits, signal);
  return { codec: await writeCodebook(directory, name, codebook, plan), codebook };
}

/** The float32 keys of a segment that is to be compressed. */
export const openStage = (
  directory: string,
  staged: SegmentRecord,
  dimension: number,
): Promise<Segment> =>
  openSegment(segmentPath(directory, staged.name), staged, { decoder: float32Decoder(dimension) });

export const compressStage = (
  stage: Segment,
  name: string,
  codebook: StoredCodebook,
  { directory, onProgress, signal }: CompressOptions,
): Promise<SegmentRecord> =>
  compressSegment(
    stage,
    segmentPath(directory, stage.record.name),
    segmentPath(directory, name),
    codebook,
    (passages) => onProgress?.({ event: "compressed", passages, tokens: stage.record.tokens }),
    signal,
  );

/** Encodes passages and writes them to `path` as float32 keys, or goes on where that was interrupted. */
export async function writeSegment(
  path: string,
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  options: BuildOptions,
): Promise<SegmentRecord> {
  const { directory, header } = options;
  const plan: BuildPlan = { header, windowPassages: WINDOW };
  await using writer = await writing(directory, () => openSegmentWriter(path, plan));
  return await writeWindows(writer, passages, options);
}

async function writeWindows(
  writer: SegmentWriter,
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  { directory, header, encode, shard, onProgress, signal }: BuildOptions,
): Promise<SegmentRecord> {
  const report = (
    event: BuildProgress["event"],
    windows: number,
    more = { passages: 0, tokens: 0 },
  ) => {
    const { passages, tokens } = writer.resumePoints[windows - 1] ?? { passages: 0, tokens: 0 };
    onProgress?.({ event, passages: passages + more.passages, tokens: tokens + more.tokens });
  };
  const divergeAfter = async (windows: number) => {
    await writing(directory, () => writer.rewind(windows));
    report("diverged", windows);
  };
  const ids = new IdHashTable();
  const digest = createHash("sha256");
  let windows = 0;
  if (writer.resumePoints.length > 0) report("resumed", writer.resumePoints.length);
  for await (const window of windowsOf(passages, shard, signal)) {
    await claimIds(ids, window, windows * WINDOW, writer);
    for (const { id, title, text } of window) digest.update(JSON.stringify([id, title, text]));
    const soFar = digest.copy().digest("hex");
    const known = writer.resumePoints[windows];
    if (known && known.digest !== soFar) await divergeAfter(windows);
    if (known?.digest === soFar) {
      report("reused", ++windows);
      continue;
    }
    const keys = await encode(window, (passages, tokens) =>
      report("encoded", windows, { passages, tokens }),
    );
    checkKeys(keys, window.length, header.dimension);
    signal?.throwIfAborted();
    await writing(directory, () => writer.append(window, keys, soFar));
    report("encoded", ++windows);
  }
  if (writer.resumePoints.length > windows) await divergeAfter(windows);
  if (windows === 0) throw empty(directory);
  return writing(directory, () => writer.seal(ids.sorted()));
}

/** Notes the ids of a window whose first passage has the ordinal `first`. Throws `InputError` for one that was there before. */
async function claimIds(
  ids: IdHashTable,
  window: readonly Passage[],
  first: number,
  writer: SegmentWriter,
): Promise<void> {
  for (const [i, { id }] of window.entries())
    for (const ordinal of ids.add(id)) {
      const earlier = window[ordinal - first] ?? (await writer.passage(ordinal));
      if (earlier.id === id) throw duplicate(id, first + i, ordinal);
    }
}

/** Whether a shard takes the passage that stands at `position` in the corpus. */
export const isInShard = (position: number, shard: ShardRecord | undefined): boolean =>
  shard === undefined || Math.floor(position / WINDOW) % shard.count === shard.index;

async function* windowsOf(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  shard: ShardRecord | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Passage[]> {
  let window: Passage[] = [];
  let position = 0;
  for await (const passage of passages) {
    signal?.throwIfAborted();
    if (isInShard(position++, shard)) window.push(passage);
    if (window.length < WINDOW) continue;
    yield window;
    window = [];
  }
  if (window.length > 0) yield window;
}

/** A defect of the encoder must not become an index. */
function checkKeys(keys: readonly Float32Array[], passages: number, dimension: number): void {
  if (keys.length !== passages)
    throw new Error(`encode returned ${keys.length} arrays for ${passages} passages`);
  for (const key of keys) {
    if (key.length === 0 || key.length % dimension !== 0)
      throw new Error(`encode returned ${key.length} numbers, not [tokens, ${dimension}]`);
    if (!key.every(Number.isFinite)) throw new Error("encode returned a key that is not finite");
  }
}

const duplicate = (id: string, ordinal: number, earlier: number): InputError =>
  new InputError({
    where: `passage ${ordinal + 1}`,
    expected: "an id of its own",
    got: `${JSON.stringify(id)}, the id of passage ${earlier + 1}`,
    remedy: "give every passage another id",
  });

const compressedShard = (): InputError =>
  new InputError({
    where: "shard",
    expected: "float32 keys, which one codebook can be learned from when the shards are merged",
    got: "bits",
    remedy: "give the bits to the merge instead",
  });

const empty = (directory: string): InputError =>
  new InputError({
    where: directory,
    expected: "passages to index",
    got: "none",
    remedy: "see that the corpus is not empty",
  });
