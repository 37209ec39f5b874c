/** Compresses a segment of float32 keys: learns a codebook from it where there is none, codes its keys, lists passages by centroid. */

import { createReadStream } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { basename, join } from "node:path";
import { InputError } from "../errors.ts";
import type { RunningChecksum } from "./blocks.ts";
import {
  type Bits,
  type Codebook,
  centroidCount,
  centroidsOf,
  codeBytes,
  openEncoder,
  residualDecoder,
  sampleSize,
  trainCodebook,
} from "./codec.ts";
import { type CentroidPiece, encodeLists } from "./lists.ts";
import type { SegmentRecord } from "./manifest.ts";
import { completeSegment, writeParts } from "./new-files.ts";
import { longestRow } from "./score.ts";
import type { Segment } from "./segment.ts";
import { readAt } from "./storage.ts";
import { openStore } from "./store.ts";

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
  const decoder = residualDecoder(codebook);
  let longest = 0;
  async function* codesOf(): AsyncGenerator<Uint8Array> {
    await using encoder = await openEncoder(codebook);
    for await (const { ordinals, keys } of openStore([segment], dimension).pieces({ signal })) {
      const codes = await encoder.encode(keys);
      longest = Math.max(longest, longestRow(decoder.decode(codes), dimension));
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
  const { passages, tokens } = segment.record;
  Object.assign(checksums, await writeLists(passages, segment.tokenStarts, to, codebook, signal));
  const files = await completeSegment(to, checksums);
  return { name: basename(to), passages, tokens, longestKey: longest, files };
}

/** Writes the lists of the codes that lie at `path`. `tokenStarts` is as that of `Segment`. */
export async function writeLists(
  passages: number,
  tokenStarts: Segment["tokenStarts"],
  path: string,
  codebook: Codebook,
  signal: AbortSignal | undefined,
): Promise<Record<string, RunningChecksum>> {
  const offsets = [0n];
  async function* lists(): AsyncGenerator<Uint8Array> {
    const count = codebook.centroids.length / codebook.dimension;
    const pieces = () => centroidPieces(passages, tokenStarts, join(path, "codes.bin"), codebook, signal);
    for await (const list of encodeLists(count, pieces)) {
      offsets.push(offsets.at(-1)! + BigInt(list.length));
      yield list;
    }
  }
  return {
    "lists.bin": await writeParts(join(path, "lists.bin"), lists()),
    "lists.u64": await writeParts(join(path, "lists.u64"), [BigUint64Array.from(offsets)]),
  };
}

/** Reads the centroids of all tokens back from the codes at `path`. */
async function* centroidPieces(
  passages: number,
  tokenStarts: Segment["tokenStarts"],
  path: string,
  codebook: Codebook,
  signal: AbortSignal | undefined,
): AsyncGenerator<CentroidPiece> {
  const tokenBytes = codeBytes(codebook);
  const file = await open(path);
  try {
    for (let first = 0; first < passages; first += PIECE_PASSAGES) {
      signal?.throwIfAborted();
      const starts = await tokenStarts(first, Math.min(PIECE_PASSAGES, passages - first));
      const start = starts[0]!;
      const codes = await readAt(file, start * tokenBytes, (starts.at(-1)! - start) * tokenBytes);
      yield {
        first,
        starts: starts.map((token) => token - start),
        centroids: centroidsOf(codes, codebook),
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
