/**
 * Builds a token index from a stream of passages. manifest.ts has the format, and why a crash
 * leaves it complete.
 */

import { createHash } from "node:crypto";
import { firstNotFiniteOf } from "../../../checkpoints/finite.ts";
import { InputError } from "../../../io/errors.ts";
import type { Passage } from "../../../text/passage.ts";
import { type Bits, type Codec, checkBits, float32Decoder } from "../../codec/codec.ts";
import { int8Decoder } from "../../codec/int8-keys.ts";
import { writing } from "../blocks/storage.ts";
import { findCodebook, type StoredCodebook, writeCodebook } from "../format/codebook-file.ts";
import { IdHashTable } from "../format/id-hashes.ts";
import {
  type CutText,
  codebookPath,
  type IndexHeader,
  type SegmentRecord,
  type ShardRecord,
  segmentPath,
} from "../format/manifest.ts";
import { openSegment, type Segment } from "../format/segment.ts";
import { type BitsOption, bitsFor, float32Record } from "./automatic-bits.ts";
import { compressSegment, learnCodebook } from "./compress.ts";
import { copySegments, passageRanges, WINDOW } from "./copy.ts";
import { type EncodedKeys, openPartialWindow, type PartialWindow } from "./partial-window.ts";
import {
  type BuildPlan,
  type EncodedWindow,
  openSegmentWriter,
  recordedCut,
  type SegmentWriter,
} from "./segment-writer.ts";
import { type IndexState, replaceIndex, stageName } from "./transaction.ts";

export interface BuildOptions {
  /** The folder of the index. An existing index is replaced when the new one is complete. */
  readonly directory: string;
  readonly header: IndexHeader;
  /**
   * Encodes passages to token keys, [tokens, dimension] each, with at least one token. It can
   * report the passages and tokens done so far. If it adds keys to `encoded` as it makes them, an
   * interrupted build does not lose them, and gives them back as `encoded.known`. For an index
   * that holds states, it must add the keys with the states.
   */
  readonly encode: (
    passages: readonly Passage[],
    onProgress: (passages: number, tokens: number) => void,
    encoded: EncodedKeys,
  ) => Promise<readonly Float32Array[]>;
  /**
   * Counts the tokens of a passage that have no keys, because it is longer than the limit. `keys`
   * is the number of its keys. Default: none.
   */
  readonly cutTokens?: ((passage: Passage, keys: number) => number) | undefined;
  /**
   * Bits for each dimension of a compressed key. Default: no compression. During the build, keys
   * take a byte a dimension from 65,536 tokens on.
   */
  readonly bits?: BitsOption;
  /**
   * Builds a shard: every `count`-th window of 512 passages, from window `index` (from 0).
   * `mergeShards` joins the shards.
   */
  readonly shard?: ShardRecord | undefined;
  /** False: an index that another call has built meanwhile is an error. Default: true. */
  readonly replace?: boolean | undefined;
  /** Seconds to wait for another process that writes. Default: 0. */
  readonly wait?: number | undefined;
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface BuildProgress {
  /**
   * - `resumed`: an interrupted build left `passages` encoded passages (once, at the start)
   * - `diverged`: only the first `passages` of these equal the corpus; the build continues from
   *   there
   * - `reused`, `encoded`: `passages` are done
   * - `compressed`: `passages` are compressed, including those of an interrupted build; 0 while a
   *   codebook is learned
   * - `publishing`: a synchronisation of a store makes all of its change visible
   * - `finished`: the new index has replaced the old one
   */
  readonly event:
    | "resumed"
    | "diverged"
    | "reused"
    | "encoded"
    | "compressed"
    | "publishing"
    | "finished";
  /** Passages that are encoded. */
  readonly passages: number;
  /** Their tokens. */
  readonly tokens: number;
  /** The text that is cut in the whole windows so far. Absent if there is none. */
  readonly cut?: CutText | undefined;
}

/**
 * Encodes `passages` and writes them as the index in `directory`. Memory is bounded by a window of
 * 512 passages, and 24 bytes a passage for the ids.
 *
 * After an interruption (`signal`, a crash, a full disk) the same call resumes the build: passages
 * that are encoded or compressed already are compared with the corpus and not processed again, up
 * to the last second of work. An existing index stays complete until the new one replaces it.
 *
 * @throws {InputError} if there are no passages or duplicate ids, if the system refuses to write,
 * or if another process writes the index
 */
export async function buildIndex(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  options: BuildOptions,
): Promise<void> {
  const { directory, header, bits, shard } = options;
  if (typeof bits === "number") checkBits(bits, header.dimension);
  if (bits !== undefined && shard) throw compressedShard();
  const { segments } = await replaceIndex(
    directory,
    async (name) => {
      const written = bits === undefined ? name : stageName(name);
      const path = segmentPath(directory, written);
      const segment = await writeSegment(path, passages, {
        ...options,
        waiting: bits !== undefined,
      });
      if (bits === undefined)
        return { header, codec: float32Record(bits), shard, segments: [segment] };
      return finishStage(segment, name, bits, options);
    },
    options,
  );
  const { passages: count, tokens, cut } = segments[0]!;
  options.onProgress?.({ event: "finished", passages: count, tokens, ...(cut && { cut }) });
}

/**
 * The state of an index whose only segment is `staged`: compressed, or as it is if the index is too
 * small for automatic bits.
 */
export async function finishStage(
  staged: SegmentRecord,
  name: string,
  bits: BitsOption,
  options: CompressOptions,
): Promise<IndexState> {
  const { directory, header, signal } = options;
  const chosen = bitsFor(bits, staged.tokens, header);
  if (chosen !== undefined) return compressWhole(staged, name, chosen, options);
  return writing(directory, async () => {
    await using stage = await openStage(directory, staged, header.dimension);
    const codec: Codec = { decoder: float32Decoder(header.dimension), codebook: undefined };
    const to = segmentPath(directory, name);
    const segment = await copySegments(passageRanges(stage), to, codec, signal);
    return { header, codec: float32Record(bits), segments: [segment] };
  });
}

type CompressOptions = Pick<BuildOptions, "directory" | "header" | "onProgress" | "signal">;

/**
 * The state of an index whose only segment is `staged`, compressed with its own codebook. Resumes
 * an interrupted call with the same keys and bits.
 */
function compressWhole(
  staged: SegmentRecord,
  name: string,
  bits: Bits,
  options: CompressOptions,
): Promise<IndexState> {
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
  const folder = codebookPath(directory, name);
  const codebook = await learnCodebook(stage, folder, dimension, bits, signal);
  return { codec: await writeCodebook(directory, name, codebook, plan), codebook };
}

/** Opens the segment that is to be compressed. */
export function openStage(
  directory: string,
  staged: SegmentRecord,
  dimension: number,
): Promise<Segment> {
  const decoder = "keys.i8" in staged.files ? int8Decoder(dimension) : float32Decoder(dimension);
  return openSegment(segmentPath(directory, staged.name), staged, { decoder });
}

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

/**
 * Encodes passages and writes them to `path`, or resumes an interrupted call.
 *
 * @param options `waiting`: the keys wait for a codebook (segment-writer.ts)
 */
export async function writeSegment(
  path: string,
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  options: BuildOptions & Pick<BuildPlan, "waiting">,
): Promise<SegmentRecord> {
  const { directory, header, waiting } = options;
  const { model: _, ...decisive } = header; // a model can be moved before a build is resumed
  const plan: BuildPlan = { header: decisive, windowPassages: WINDOW, waiting };
  await using writer = await writing(directory, () => openSegmentWriter(path, plan));
  const encodeWindow = async (window: readonly Passage[], digest: string, report: Report) => {
    await using partial = await writing(directory, () =>
      openPartialWindow(path, { ...plan, digest }),
    );
    const before = window.filter((_, i) => partial.known.has(i)).length;
    if (before > 0) report("reused", before, 0);
    try {
      const done = (...counts: [number, number]) => report("encoded", ...counts);
      const keys = await options.encode(window, done, partial);
      return { keys, states: header.states ? statesOf(window, partial) : [] };
    } catch (error) {
      await partial.save().catch(() => {}); // the first error counts
      throw error;
    }
  };
  return await writeWindows(writer, passages, options, encodeWindow);
}

/** Stops the build on a defect of the encoder. */
function statesOf(window: readonly Passage[], { states }: PartialWindow): Uint8Array[] {
  return window.map((_, i) => {
    const packed = states.get(i);
    if (packed === undefined) throw new Error(`encode added no states of passage ${i}`);
    return packed;
  });
}

type Report = (event: "reused" | "encoded", passages: number, tokens: number) => void;

/** Encodes a window; `digest` identifies it. `report` counts from the start of the window. */
type EncodeWindow = (
  window: readonly Passage[],
  digest: string,
  report: Report,
) => Promise<Pick<EncodedWindow, "keys" | "states">>;

const NOTHING = { passages: 0, tokens: 0, cut: { passages: 0, tokens: 0 } };

async function writeWindows(
  writer: SegmentWriter,
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  { directory, header, shard, onProgress, signal, cutTokens = () => 0 }: BuildOptions,
  encodeWindow: EncodeWindow,
): Promise<SegmentRecord> {
  const report = (
    event: BuildProgress["event"],
    windows: number,
    more = { passages: 0, tokens: 0 },
  ) => {
    const { passages, tokens, cut } = writer.resumePoints[windows - 1] ?? NOTHING;
    const done = { passages: passages + more.passages, tokens: tokens + more.tokens };
    onProgress?.({ event, ...done, ...recordedCut(cut) });
  };
  const divergeAfter = async (windows: number) => {
    await writing(directory, () => writer.rewind(windows));
    report("diverged", windows);
  };
  const ids = new IdHashTable();
  const digest = createHash("sha256");
  let windows = 0;
  if (writer.resumePoints.length > 0) report("resumed", writer.resumePoints.length);
  for await (const window of readWindows(passages, shard, signal)) {
    await checkIds(ids, window, windows * WINDOW, writer);
    for (const { id, title, text, document, metadata } of window)
      digest.update(JSON.stringify([id, title, text, document, metadata]));
    const soFar = digest.copy().digest("hex");
    const known = writer.resumePoints[windows];
    if (known && known.digest !== soFar) await divergeAfter(windows);
    if (known?.digest === soFar) {
      report("reused", ++windows);
      continue;
    }
    const encoded = await encodeWindow(window, soFar, (event, passages, tokens) =>
      report(event, windows, { passages, tokens }),
    );
    const { keys } = encoded;
    checkKeys(keys, window.length, header.dimension);
    signal?.throwIfAborted();
    const cut = window.map((passage, i) => cutTokens(passage, keys[i]!.length / header.dimension));
    await writing(directory, () =>
      writer.append({ ...encoded, passages: window, cutTokens: cut }, soFar),
    );
    report("encoded", ++windows);
  }
  if (writer.resumePoints.length > windows) await divergeAfter(windows);
  if (windows === 0) throw empty(directory);
  return writing(directory, () => writer.seal(ids.sorted()));
}

/**
 * Adds the ids of a window whose first passage has the ordinal `first`.
 *
 * @throws {InputError} for a duplicate id
 */
async function checkIds(
  ids: IdHashTable,
  window: readonly Passage[],
  first: number,
  writer: SegmentWriter,
): Promise<void> {
  for (const [i, { id }] of window.entries())
    for (const ordinal of ids.add(id)) {
      const earlier = window[ordinal - first]?.id ?? (await writer.idOf(ordinal));
      if (earlier === id) throw duplicate(id, first + i, ordinal);
    }
}

/** Whether the passage at `position` in the corpus belongs to the shard. */
export const isInShard = (position: number, shard: ShardRecord | undefined): boolean =>
  shard === undefined || Math.floor(position / WINDOW) % shard.count === shard.index;

export async function* readWindows(
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

/** Stops the build on a defect of the encoder. */
export function checkKeys(
  keys: readonly Float32Array[],
  passages: number,
  dimension: number,
): void {
  if (keys.length !== passages)
    throw new Error(`encode returned ${keys.length} arrays for ${passages} passages`);
  for (const key of keys) {
    if (key.length === 0 || key.length % dimension !== 0)
      throw new Error(`encode returned ${key.length} numbers, not [tokens, ${dimension}]`);
    if (firstNotFiniteOf(key) >= 0) throw new Error("encode returned a key that is not finite");
  }
}

const duplicate = (id: string, ordinal: number, earlier: number): InputError =>
  new InputError({
    where: `passage ${ordinal + 1}`,
    expected: "a unique id",
    got: `${JSON.stringify(id)}, the id of passage ${earlier + 1}`,
    remedy: "give every passage a unique id",
  });

const compressedShard = (): InputError =>
  new InputError({
    where: "shard",
    expected: "float32 keys, from which the merge learns one codebook",
    got: "bits",
    remedy: "give the bits to the merge instead",
  });

const empty = (directory: string): InputError =>
  new InputError({
    where: directory,
    expected: "passages to index",
    got: "none",
    remedy: "check that the corpus is not empty",
  });
