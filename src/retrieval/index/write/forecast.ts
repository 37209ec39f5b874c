/**
 * Estimates the size of an index before it is built. The sizes follow the format in manifest.ts.
 */

import { readdir, stat, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { InputError, isMissing } from "../../../io/errors.ts";
import { formatBytes } from "../../../io/format-bytes.ts";
import type { Passage } from "../../../text/passage.ts";
import type { Bits } from "../../codec/codec.ts";
import { int8KeyBytes } from "../../codec/int8-keys.ts";
import { centroidCount, sampleSize } from "../../codec/train-codebook.ts";
import { type CutText, findManifest, type StatesHeader } from "../format/manifest.ts";
import { packFields, packPassage } from "../format/packed-passage.ts";
import { stateBytes } from "../format/packed-states.ts";
import { bitsFor, COMPRESSED_TOKENS } from "./automatic-bits.ts";
import { type BuildOptions, isInShard } from "./build.ts";
import { WINDOW } from "./copy.ts";

/** One of this number of passages is tokenised and compressed as a sample. */
const SAMPLE_STRIDE = 16;
/** Bytes of a passage for offsets, id, and the starts of its metadata and codes. */
const PASSAGE_BYTES = 48;
/** Bytes of a passage for the start of its states. */
const STATES_START_BYTES = 8;
/** Bytes of a token in the inverted lists. Usually less: tokens of a passage share a centroid. */
const LIST_BYTES = 2;
/**
 * Bytes of the words of a passage for each byte of its compressed text: 0.36 of 5,000 passages of
 * Wikipedia. A large corpus has fewer terms for each passage.
 */
const WORDS_SHARE = 0.36;
/** Bytes of manifest and checksums, rounded up. */
const FIXED_BYTES = 16_384;

/** Passages that are encoded to measure the time, of the first of the sample. */
const TIMED_PASSAGES = 16;
/**
 * The time to learn a codebook and to code the keys, for each second of encoding: 13.5 s of
 * processor time for 605,281 keys of 256 dimensions, which take 50 s to encode
 * (docs/experiments/speed.md).
 */
const CODING_SHARE = 0.27;
/** Bytes of memory of a passage during a build: offsets, and the digest of its id. */
const PASSAGE_MEMORY = 24;
/**
 * Bytes of memory for each dimension while a codebook is learned: 32,768 keys, their residuals, and
 * those of each part. The build of the line above took 0.66 GB with all of its process.
 */
const CODEBOOK_MEMORY = 2 ** 21;

export interface BuildForecast {
  /** The passages of this shard, counted. */
  readonly passages: number;
  /** Estimated from a sample, as are the bytes. */
  readonly tokens: number;
  /**
   * Passages that are longer than a `maxPassageTokens` below 512, or whose title has no room, and
   * the tokens that are cut; estimated from a sample, which may have none. The build counts all.
   */
  readonly cut: CutText;
  /** Bits for each dimension of a key; 32 if keys are not compressed. */
  readonly bits: Bits | 32;
  /** Size of the index on disk. */
  readonly bytes: number;
  /** The greatest size during the build, when waiting keys and codes, or a sample, are on disk. */
  readonly peakBytes: number;
  /** About as much memory as the process takes during the build. */
  readonly memoryBytes: number;
  /**
   * About as long as the build takes on this machine as busy as it is now: the time of the first
   * passages of the sample, which are encoded, and what the codes of compressed keys add.
   */
  readonly seconds: number;
}

export interface ForecastOptions
  extends Pick<BuildOptions, "directory" | "bits" | "shard" | "signal" | "header"> {
  /** Counts the tokens of a passage that the index will hold. */
  readonly countTokens: (passage: Passage) => number;
  /** Counts the tokens of a passage whose states the index will hold, if its header has states. */
  readonly countStates?: ((passage: Passage) => number) | undefined;
  /** Counts the tokens of a passage that are cut. */
  readonly cutTokens: (passage: Passage) => number;
  /** Encodes passages, to measure how long that takes. Default: the time is 0. */
  readonly encode?: ((passages: readonly Passage[]) => Promise<unknown>) | undefined;
}

/**
 * Reads all passages and estimates the size of their index.
 *
 * @throws {InputError} if the disk of `directory` has too little space for the build
 */
export async function forecastBuild(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  options: ForecastOptions,
): Promise<BuildForecast> {
  const surveyed = await survey(passages, options);
  const seconds = await secondsOf(surveyed, options);
  const forecast = { ...sizes(surveyed, options), seconds };
  const free = (await freeBytes(options.directory)) + (await interruptedBytes(options.directory));
  const { passages: count, peakBytes } = forecast;
  if (peakBytes > free)
    throw new InputError({
      where: options.directory,
      expected: `about ${formatBytes(peakBytes)} of disk for ${count} passages`,
      got: formatBytes(free),
      remedy: "free some space, choose another disk, or build shards on several",
    });
  return forecast;
}

interface Survey {
  /** The first of the sample. */
  readonly timed: readonly Passage[];
  readonly passages: number;
  readonly tokens: number;
  readonly cut: CutText;
  /** Texts, words, metadata and states, which every codec stores alike. */
  readonly sharedBytes: number;
}

async function survey(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  { header, shard, countTokens, countStates = () => 0, cutTokens, signal }: ForecastOptions,
): Promise<Survey> {
  const bytesOfStates = ({ size }: StatesHeader, passage: Passage): number =>
    STATES_START_BYTES + stateBytes(size) * countStates(passage);
  let seen = 0;
  const own = { passages: 0, sampled: 0, tokens: 0, sharedBytes: 0 };
  const cut = { passages: 0, tokens: 0 };
  const timed: Passage[] = [];
  for await (const passage of passages) {
    signal?.throwIfAborted();
    if (!isInShard(seen++, shard)) continue;
    if (own.passages++ % SAMPLE_STRIDE !== 0) continue;
    own.sampled++;
    if (timed.length < TIMED_PASSAGES) timed.push(passage);
    own.tokens += countTokens(passage);
    const over = cutTokens(passage);
    if (over > 0) cut.passages++;
    cut.tokens += over;
    own.sharedBytes += (1 + WORDS_SHARE) * packPassage(passage).length + packFields(passage).length;
    if (header.states) own.sharedBytes += bytesOfStates(header.states, passage);
  }
  const scale = own.passages / Math.max(1, own.sampled);
  return {
    timed,
    passages: own.passages,
    tokens: Math.round(own.tokens * scale),
    sharedBytes: Math.round(own.sharedBytes * scale),
    cut: { passages: Math.round(cut.passages * scale), tokens: Math.round(cut.tokens * scale) },
  };
}

/** The first run of the encoder allocates its memory, and is not timed. */
async function secondsOf(
  { timed, tokens }: Survey,
  { bits, header, encode, countTokens }: ForecastOptions,
): Promise<number> {
  if (!encode || timed.length === 0) return 0;
  await encode(timed.slice(0, 1));
  const started = performance.now();
  await encode(timed);
  const taken = (performance.now() - started) / 1000;
  const counted = timed.reduce((sum, passage) => sum + countTokens(passage), 0);
  const isCompressed = bitsFor(bits, tokens, header) !== undefined;
  return (tokens / counted) * taken * (isCompressed ? 1 + CODING_SHARE : 1);
}

function sizes(
  { passages, tokens, sharedBytes, cut }: Survey,
  { header, bits: choice }: ForecastOptions,
): Omit<BuildForecast, "seconds"> {
  const { dimension } = header;
  const bits = bitsFor(choice, tokens, header);
  const common = sharedBytes + passages * PASSAGE_BYTES + FIXED_BYTES;
  const plain = common + tokens * 4 * dimension;
  const window = (WINDOW * 4 * dimension * tokens) / Math.max(1, passages);
  const memoryBytes = process.memoryUsage.rss() + passages * PASSAGE_MEMORY + window;
  const counts = { passages, tokens, cut, memoryBytes };
  if (bits === undefined) return { ...counts, bits: 32, bytes: plain, peakBytes: plain };
  // segment-writer.ts keeps the first keys in both forms
  const float32Bytes = 4 * dimension * Math.min(tokens, COMPRESSED_TOKENS);
  const int8Bytes = tokens < COMPRESSED_TOKENS ? 0 : tokens * int8KeyBytes(dimension);
  const unfinished = common + float32Bytes + int8Bytes;
  const centroids = centroidCount(tokens);
  const code = (centroids <= 65_536 ? 2 : 4) + 1 + (dimension * bits) / 8;
  const codebook = 4 * dimension * (centroids + dimension + 512) + 9 * centroids;
  const bytes = common + tokens * (code + LIST_BYTES) + codebook;
  const sample = 4 * dimension * sampleSize(tokens); // in a file while the codebook is learned
  return {
    ...counts,
    ...{ bits, bytes },
    peakBytes: unfinished + Math.max(bytes, sample),
    memoryBytes: memoryBytes + CODEBOOK_MEMORY * dimension + 8 * dimension * centroids,
  };
}

async function freeBytes(path: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch (error) {
    if (!isMissing(error) || dirname(resolve(path)) === resolve(path)) throw error;
    return freeBytes(dirname(resolve(path)));
  }
}

/** Bytes of an interrupted build. The next build resumes or removes it, so they count as free. */
async function interruptedBytes(directory: string): Promise<number> {
  // a damaged index counts as none, as in a build
  const manifest = await findManifest(directory).catch(() => undefined);
  const whole = new Set(manifest?.segments.map(({ name }) => name));
  const entries = await readdir(join(directory, "segments"), { withFileTypes: true }).catch(
    () => [],
  );
  let bytes = 0;
  for (const { name } of entries.filter((entry) => entry.isDirectory() && !whole.has(entry.name)))
    for (const file of await readdir(join(directory, "segments", name)))
      bytes += (await stat(join(directory, "segments", name, file))).size;
  return bytes;
}
