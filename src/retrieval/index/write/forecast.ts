/** What a build will need, known before it starts. The sizes are those of the format in manifest.ts. */

import { readdir, stat, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { InputError } from "../../../io/errors.ts";
import { formatBytes } from "../../../io/format-bytes.ts";
import type { Passage } from "../../../text/passage.ts";
import { centroidCount } from "../../codec/train-codebook.ts";
import { findManifest } from "../format/manifest.ts";
import { packPassage } from "../format/packed-passage.ts";
import { isMissing } from "../format/storage.ts";
import { type BuildOptions, isInShard } from "./build.ts";

/** One passage of so many is tokenised and compressed; the others are like it. */
const SAMPLE_STRIDE = 16;
/** Offsets and id of a passage, and where its codes start. */
const PASSAGE_BYTES = 40;
/** Of a token in the lists of the centroids: at most, as a rule; tokens that share a passage and a centroid share it. */
const LIST_BYTES = 2;
/** Of the manifest and of checksums, rounded up. */
const FIXED_BYTES = 16_384;

export interface BuildForecast {
  /** Exact, of this shard. */
  readonly passages: number;
  /** From a sample, as are the bytes. */
  readonly tokens: number;
  /** Of the index on disk. */
  readonly bytes: number;
  /** Of what is on disk while it is built: float32 keys wait beside the codes until these are whole. */
  readonly peakBytes: number;
}

export interface ForecastOptions
  extends Pick<BuildOptions, "directory" | "bits" | "shard" | "signal" | "header"> {
  /** The tokens that a passage has in the index. */
  readonly countTokens: (passage: Passage) => number;
}

/** Reads all passages. Throws `InputError` where the disk of `directory` has too little room for the build. */
export async function forecastBuild(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  options: ForecastOptions,
): Promise<BuildForecast> {
  const forecast = sizes(await survey(passages, options), options);
  const free = (await freeBytes(options.directory)) + (await interruptedBytes(options.directory));
  if (forecast.peakBytes > free)
    throw new InputError({
      where: options.directory,
      expected: `about ${formatBytes(forecast.peakBytes)} of disk for ${forecast.passages} passages`,
      got: formatBytes(free),
      remedy: "free some space, choose another disk, or build shards on several",
    });
  return forecast;
}

interface Survey {
  readonly passages: number;
  readonly tokens: number;
  readonly textBytes: number;
}

async function survey(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  { shard, countTokens, signal }: ForecastOptions,
): Promise<Survey> {
  let seen = 0;
  const own = { passages: 0, sampled: 0, tokens: 0, textBytes: 0 };
  for await (const passage of passages) {
    signal?.throwIfAborted();
    if (!isInShard(seen++, shard)) continue;
    if (own.passages++ % SAMPLE_STRIDE !== 0) continue;
    own.sampled++;
    own.tokens += countTokens(passage);
    own.textBytes += packPassage(passage).length;
  }
  const scale = own.passages / Math.max(1, own.sampled);
  return {
    passages: own.passages,
    tokens: Math.round(own.tokens * scale),
    textBytes: Math.round(own.textBytes * scale),
  };
}

function sizes(
  { passages, tokens, textBytes }: Survey,
  { header: { dimension }, bits }: ForecastOptions,
): BuildForecast {
  const common = textBytes + passages * PASSAGE_BYTES + FIXED_BYTES;
  const plain = common + tokens * 4 * dimension;
  if (bits === undefined) return { passages, tokens, bytes: plain, peakBytes: plain };
  const centroids = centroidCount(tokens);
  const code = (centroids <= 65_536 ? 2 : 4) + 1 + (dimension * bits) / 8;
  const codebook = 4 * dimension * (centroids + dimension + 512) + 9 * centroids;
  const bytes = common + tokens * (code + LIST_BYTES) + codebook;
  return { passages, tokens, bytes, peakBytes: plain + bytes };
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

/** What an interrupted build left: the next one goes on with it or removes it, so it needs no more room. */
async function interruptedBytes(directory: string): Promise<number> {
  const manifest = await findManifest(directory).catch(() => undefined); // a damaged one counts as none, as in a build
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
