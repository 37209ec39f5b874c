/** Compresses a segment of float32 keys: learns a codebook from it where there is none, codes its keys, lists passages by centroid. */

import { createReadStream } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { basename, join } from "node:path";
import { InputError } from "../../errors.ts";
import type { RunningChecksum } from "../disk/blocks.ts";
import { type CentroidPiece, encodeLists } from "../disk/lists.ts";
import type { SegmentRecord } from "../disk/manifest.ts";
import { completeSegment, writeParts } from "../disk/new-files.ts";
import type { Segment } from "../disk/segment.ts";
import { readAt } from "../disk/storage.ts";
import { openStore } from "../disk/store.ts";
import { longestRow } from "../search/score.ts";
import { type Bits, type Codebook, centroidsOf, codeStarts, decodeKeys } from "./codec.ts";
import { openEncoder } from "./key-encoder.ts";
import { centroidCount, sampleSize, trainCodebook } from "./train-codebook.ts";

/** Passages whose codes are read at once: some MB. */
const PIECE_PASSAGES = 1024;
/** Files that a compressed segment has in common with a segment of float32 keys. */
const COMMON = ["passages.deflate", "offsets.u64", "ids.u64"];

/** Learns a codebook from keys spread evenly over the segment. */
export async function learnCodebook(
  segment: Segment,
  dimension: number,
  bits: Bits,
  signal: AbortSignal | undefined,
): Promise<Codebook> {
  const { tokens } = segment.record;
  const count = sampleSize(tokens);
  const position = (i: number) => Math.floor((i * tokens) / count);
  const sample = new Float32Array(count * dimension);
  let next = 0;
  let seen = 0;
  for await (const { keys } of openStore([segment], dimension).pieces({ signal })) {
    const end = seen + keys.length / dimension;
    for (; next < count && position(next) < end; next++) {
      const at = (position(next) - seen) * dimension;
      sample.set(keys.subarray(at, at + dimension), next * dimension);
    }
    seen = end;
  }
  return trainCodebook(sample, dimension, centroidCount(tokens), bits, signal);
}

/** Writes the compressed form of `segment`, which lies at `from`, to `to`. `onProgress` hears how many passages are coded. */
export async function compressSegment(
  segment: Segment,
  from: string,
  to: string,
  codebook: Codebook,
  onProgress: (passages: number) => void,
  signal: AbortSignal | undefined,
): Promise<SegmentRecord> {
  const { dimension } = codebook;
  const ends = [0]; // where the codes of each passage end, in bytes
  let longest = 0;
  async function* codesOf(): AsyncGenerator<Uint8Array> {
    await using encoder = await openEncoder(codebook);
    for await (const { ordinals, starts, keys } of openStore([segment], dimension).pieces({ signal })) {
      const codes = await encoder.encode(keys);
      longest = Math.max(longest, longestRow(decodeKeys(codes, codebook), dimension));
      const before = ends.at(-1)!;
      const tokens = codeStarts(codes, codebook);
      for (const end of starts.subarray(1)) ends.push(before + tokens[end]!);
      yield codes;
      onProgress(ordinals.at(-1)! + 1);
    }
  }
  await mkdir(to, { recursive: true });
  const checksums: Record<string, RunningChecksum> = {};
  for (const name of COMMON) {
    const checksum = await writeParts(join(to, name), createReadStream(join(from, name)));
    if (checksum.crc32 !== segment.record.files[name]?.crc32) throw damaged(join(from, name));
    checksums[name] = checksum;
  }
  checksums["codes.bin"] = await writeParts(join(to, "codes.bin"), codesOf());
  Object.assign(checksums, await writeLists(ends, to, codebook, signal));
  const files = await completeSegment(to, checksums);
  const { passages, tokens } = segment.record;
  return { name: basename(to), passages, tokens, longestKey: longest, files };
}

/**
 * Writes what leads into the codes at `path`: where those of each passage start and the last end, which is given,
 * [passages + 1], and the passages of each centroid.
 */
export async function writeLists(
  starts: readonly number[],
  path: string,
  codebook: Codebook,
  signal: AbortSignal | undefined,
): Promise<Record<string, RunningChecksum>> {
  const offsets = [0n];
  async function* lists(): AsyncGenerator<Uint8Array> {
    const count = codebook.centroids.length / codebook.dimension;
    const pieces = () => centroidPieces(starts, join(path, "codes.bin"), codebook, signal);
    for await (const list of encodeLists(count, pieces)) {
      offsets.push(offsets.at(-1)! + BigInt(list.length));
      yield list;
    }
  }
  return {
    "codes.u64": await writeParts(join(path, "codes.u64"), [BigUint64Array.from(starts, BigInt)]),
    "lists.bin": await writeParts(join(path, "lists.bin"), lists()),
    "lists.u64": await writeParts(join(path, "lists.u64"), [BigUint64Array.from(offsets)]),
  };
}

/** Reads the centroids of all tokens back from the codes at `path`. */
async function* centroidPieces(
  starts: readonly number[],
  path: string,
  codebook: Codebook,
  signal: AbortSignal | undefined,
): AsyncGenerator<CentroidPiece> {
  const file = await open(path);
  try {
    for (let first = 0; first + 1 < starts.length; first += PIECE_PASSAGES) {
      signal?.throwIfAborted();
      const bounds = starts.slice(first, first + PIECE_PASSAGES + 1).map((byte) => byte - starts[first]!);
      const codes = await readAt(file, starts[first]!, bounds.at(-1)!);
      yield {
        first,
        centroids: bounds.slice(1).map((end, p) => centroidsOf(codes.subarray(bounds[p]!, end), codebook)),
      };
    }
  } finally {
    await file.close();
  }
}

const damaged = (path: string): InputError =>
  new InputError({
    where: path,
    expected: "the bytes that were written",
    got: "others",
    remedy: "see to the disk, and run it again",
  });
