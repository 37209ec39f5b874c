/**
 * Compresses a segment of keys that waited: learns a codebook, encodes the keys, and lists passages
 * by centroid.
 */

import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { createDirectory } from "../../../io/create-directory.ts";
import { openFile } from "../../../io/open-file.ts";
import { type Bits, type Codebook, centroidsOf, codeStarts } from "../../codec/codec.ts";
import { openKeyDecoder } from "../../codec/key-decoder.ts";
import { openKeyEncoder } from "../../codec/key-encoder.ts";
import { BATCH_ROWS } from "../../codec/kmeans.ts";
import { divideSample, partRows, type Sample } from "../../codec/sample.ts";
import { centroidCount, sampleSize, trainCodebook } from "../../codec/train-codebook.ts";
import { longestRow } from "../../scoring/vectors.ts";
import type { RunningChecksum } from "../blocks/blocks.ts";
import { damagedFile, fillFrom, readAt, writeAt } from "../blocks/storage.ts";
import type { StoredCodebook } from "../format/codebook-file.ts";
import { type CentroidPiece, encodeLists } from "../format/lists.ts";
import type { SegmentRecord } from "../format/manifest.ts";
import { completeSegment, OPTIONAL_FILES, viewBytes, writeParts } from "../format/new-files.ts";
import type { Segment } from "../format/segment.ts";
import { openStore, PIECE_TOKENS } from "../format/store.ts";
import { type GrowingFiles, openGrowingFiles } from "./growing-files.ts";

/** Passages whose codes are read together: some MB. */
const PIECE_PASSAGES = 1024;
const PART_BYTES = 1_048_576;
/** Files that float32 and compressed segments share. */
const COMMON = ["passages.deflate", "offsets.u64", ...OPTIONAL_FILES, "ids.u64"];
/** Files that grow with every piece of keys. */
const GROWING = ["codes.bin", "codes.u64"] as const;

/** The state of a compressed segment after a piece. */
interface CodesState {
  readonly passages: number;
  readonly longestKey: number;
}

type CodeFiles = GrowingFiles<(typeof GROWING)[number], CodesState>;

/**
 * Learns a codebook from keys at equal distances in the segment. They are in a file in `folder`
 * meanwhile, so that memory does not grow with the index.
 */
export async function learnCodebook(
  segment: Segment,
  folder: string,
  dimension: number,
  bits: Bits,
  signal: AbortSignal | undefined,
): Promise<Codebook> {
  const { tokens } = segment.record;
  const count = sampleSize(tokens);
  await createDirectory(folder);
  const path = join(folder, "sample.f32");
  await using file = await openFile(path, "w+");
  const position = (i: number) => Math.floor((i * tokens) / count);
  let next = 0;
  let seen = 0;
  for await (const { keys } of openStore([segment], dimension).pieces({ signal })) {
    const end = seen + keys.length / dimension;
    const first = next;
    while (next < count && position(next) < end) next++;
    const chosen = new Float32Array((next - first) * dimension);
    for (let i = first; i < next; i++) {
      const at = (position(i) - seen) * dimension;
      chosen.set(keys.subarray(at, at + dimension), (i - first) * dimension);
    }
    seen = end;
    const { part, rest } = divideSample(chosen, dimension, first);
    const rowsBefore = partRows(first);
    await writeAt(file, viewBytes(part), 4 * dimension * rowsBefore);
    await writeAt(file, viewBytes(rest), 4 * dimension * (partRows(count) + first - rowsBefore));
  }
  const batch = new Float32Array(BATCH_ROWS * dimension);
  const read: Sample["read"] = async (first, rows) => {
    const values = batch.subarray(0, rows * dimension);
    await fillFrom(file, 4 * dimension * first, viewBytes(values));
    return values;
  };
  const sample = { rows: count, read };
  try {
    return await trainCodebook(sample, dimension, centroidCount(tokens), bits, signal);
  } finally {
    await rm(path, { force: true });
  }
}

/**
 * Writes the compressed form of `segment`, which is at `from`, to `to`, or resumes an interrupted
 * call. `onProgress` receives the number of encoded passages, first those of the interrupted call.
 */
export async function compressSegment(
  segment: Segment,
  from: string,
  to: string,
  { codec, codebook }: StoredCodebook,
  onProgress: (passages: number) => void,
  signal: AbortSignal | undefined,
): Promise<SegmentRecord> {
  const { passages, tokens, cut, files } = segment.record;
  // a step is a piece, so the pieces must be the same
  const plan = { stage: files, codec, pieceTokens: PIECE_TOKENS };
  await using codes: CodeFiles = await openGrowingFiles(to, GROWING, plan);
  onProgress(codes.resumePoints.at(-1)?.passages ?? 0);
  const common = await copyCommon(segment, from, to);
  await encodePieces(segment, codes, codebook, onProgress, signal);
  const lists = await writeLists(to, passages, codebook, signal);
  const records = await completeSegment(to, { ...common, ...codes.checksums, ...lists });
  const { longestKey } = codes.resumePoints.at(-1)!;
  const counts = { passages, tokens, longestKey, ...(cut && { cut }) };
  return { name: basename(to), ...counts, files: records };
}

async function copyCommon(
  segment: Segment,
  from: string,
  to: string,
): Promise<Record<string, RunningChecksum>> {
  const checksums: Record<string, RunningChecksum> = {};
  for (const name of COMMON) {
    if (!(name in segment.record.files)) continue; // without metadata, without states
    const checksum = await writeParts(join(to, name), readParts(join(from, name)));
    if (checksum.crc32 !== segment.record.files[name]?.crc32) throw damagedFile(join(from, name));
    checksums[name] = checksum;
  }
  return checksums;
}

async function* readParts(path: string): AsyncGenerator<Uint8Array> {
  await using file = await openFile(path);
  for (let at = 0; ; at += PART_BYTES) {
    const part = await readAt(file, at, PART_BYTES);
    yield part;
    if (part.length < PART_BYTES) return;
  }
}

/** Encodes the remaining pieces. Each is durable before the next. */
async function encodePieces(
  segment: Segment,
  files: CodeFiles,
  codebook: Codebook,
  onProgress: (passages: number) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { dimension } = codebook;
  await using encoder = await openKeyEncoder(codebook);
  const decode = openKeyDecoder(codebook);
  const pieces = openStore([segment], dimension).pieces({
    from: files.resumePoints.length,
    signal,
  });
  for await (const { ordinals, starts, keys } of pieces) {
    const codes = await encoder.encode(keys);
    const before = files.resumePoints.at(-1);
    const first = files.checksums["codes.bin"].bytes;
    const tokens = codeStarts(codes, codebook);
    const ends = Array.from(starts.subarray(1), (end) => BigInt(first + tokens[end]!));
    const longest = longestRow(decode(codes), dimension);
    const passages = ordinals.at(-1)! + 1;
    await files.append(
      {
        "codes.bin": [codes],
        "codes.u64": [viewBytes(BigUint64Array.from(before ? ends : [0n, ...ends]))],
      },
      { passages, longestKey: Math.max(before?.longestKey ?? 0, longest) },
    );
    onProgress(passages);
  }
}

/** Writes the passages of each centroid, from the files `codes.bin` and `codes.u64` at `path`. */
export async function writeLists(
  path: string,
  passages: number,
  codebook: Codebook,
  signal: AbortSignal | undefined,
): Promise<Record<string, RunningChecksum>> {
  const offsets = [0n];
  async function* lists(): AsyncGenerator<Uint8Array> {
    const count = codebook.centroids.length / codebook.dimension;
    const pieces = () => centroidPieces(path, passages, codebook, signal);
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

/** Reads the centroids of all tokens from the codes. */
async function* centroidPieces(
  path: string,
  passages: number,
  codebook: Codebook,
  signal: AbortSignal | undefined,
): AsyncGenerator<CentroidPiece> {
  await using codes = await openFile(join(path, "codes.bin"));
  await using starts = await openFile(join(path, "codes.u64"));
  for (let first = 0; first < passages; first += PIECE_PASSAGES) {
    signal?.throwIfAborted();
    const count = Math.min(PIECE_PASSAGES, passages - first);
    const { buffer } = await readAt(starts, 8 * first, 8 * (count + 1));
    const bounds = Array.from(new BigUint64Array(buffer as ArrayBuffer, 0, count + 1), Number);
    const start = bounds[0]!;
    const bytes = await readAt(codes, start, bounds.at(-1)! - start);
    const centroids = bounds
      .slice(1)
      .map((end, p) => centroidsOf(bytes.subarray(bounds[p]! - start, end - start), codebook));
    yield { first, centroids };
  }
}
