/**
 * Writes a segment of float32 keys, window by window. Each window is durable before the next.
 * manifest.ts has the layout.
 */

import { basename, join } from "node:path";
import type { Passage } from "../../../text/passage.ts";
import { longestRow } from "../../scoring/vectors.ts";
import type { CutText, IndexHeader, SegmentRecord } from "../format/manifest.ts";
import {
  completeSegment,
  viewBytes,
  withoutEmptyMetadata,
  writeParts,
} from "../format/new-files.ts";
import { packFields, packPassage, unpackPassage } from "../format/packed-passage.ts";
import { openGrowingFiles, type ResumePoint } from "./growing-files.ts";

/** The files that grow with every window. */
const GROWING = [
  "passages.deflate",
  "offsets.u64",
  "metadata.json",
  "metadata.u64",
  "keys.f32",
] as const;

/** A build resumes an interrupted one if their plans are equal. */
export interface BuildPlan {
  readonly header: IndexHeader;
  /** Passages between two resume points. */
  readonly windowPassages: number;
}

/** The state of a segment after a window. */
export interface WindowState {
  readonly passages: number;
  readonly tokens: number;
  readonly longestKey: number;
  readonly cut: CutText;
  /** SHA-256 of all passages so far. */
  readonly digest: string;
}

export interface SegmentWriter extends AsyncDisposable {
  /** The durable windows. */
  readonly resumePoints: readonly ResumePoint<WindowState>[];
  /**
   * Appends a window and makes it durable. `keys[i]` is [tokens of passage i, dimension]; `digest`
   * covers all passages up to its end; `cutTokens[i]` is the number of its tokens without keys.
   */
  append(
    passages: readonly Passage[],
    keys: readonly Float32Array[],
    digest: string,
    cutTokens: readonly number[],
  ): Promise<void>;
  /** Drops the windows after the first `count`. */
  rewind(count: number): Promise<void>;
  /** Reads the id of a passage of a durable window. */
  idOf(ordinal: number): Promise<string>;
  /** Completes the segment. `ids` is the sorted table of all its ids. */
  seal(ids: BigUint64Array): Promise<SegmentRecord>;
}

/**
 * Opens the segment at `path`: a new one, or the complete windows of an interrupted build with the
 * same plan.
 */
export async function openSegmentWriter(path: string, plan: BuildPlan): Promise<SegmentWriter> {
  const { dimension } = plan.header;
  const files = await openGrowingFiles<(typeof GROWING)[number], WindowState>(path, GROWING, {
    ...plan,
    files: GROWING, // an earlier reatt wrote others
  });
  return {
    get resumePoints() {
      return files.resumePoints;
    },
    append(passages, keys, digest, cutTokens) {
      const before = files.resumePoints.at(-1) ?? EMPTY;
      const sizes = {
        passages: files.checksums["passages.deflate"].bytes,
        metadata: files.checksums["metadata.json"].bytes,
      };
      const { data, state } = packWindow(passages, keys, dimension, before, sizes, cutTokens);
      return files.append(data, { ...state, digest });
    },
    rewind: (count) => files.rewind(count),
    async idOf(ordinal) {
      const offsets = await files.read("offsets.u64", 16 * ordinal, 32); // its row and the next
      const [start, end] = [8, 24].map((at) => Number(offsets.readBigUInt64LE(at))) as [
        number,
        number,
      ];
      const packed = await files.read("passages.deflate", start, end - start);
      return unpackPassage(packed, join(path, "passages.deflate")).id;
    },
    async seal(ids) {
      const { passages, tokens, longestKey, cut } = files.resumePoints.at(-1)!;
      const { "keys.f32": keys, ...others } = files.checksums;
      const checksums = {
        ...others,
        "ids.u64": await writeParts(join(path, "ids.u64"), [ids]),
        "keys.f32": keys,
      };
      const records = await completeSegment(path, withoutEmptyMetadata(checksums));
      const counts = { passages, tokens, longestKey, ...recordedCut(cut) };
      return { name: basename(path), ...counts, files: records };
    },
    [Symbol.asyncDispose]: () => files[Symbol.asyncDispose](),
  };
}

const EMPTY: WindowState = {
  passages: 0,
  tokens: 0,
  longestKey: 0,
  cut: { passages: 0, tokens: 0 },
  digest: "",
};

/** The counts of cut text as a manifest has them. */
export const recordedCut = (cut: CutText): { readonly cut?: CutText } =>
  cut.passages > 0 ? { cut } : {};

/** The bytes of a window for each file, and the state of the segment after it. */
function packWindow(
  passages: readonly Passage[],
  keys: readonly Float32Array[],
  dimension: number,
  before: WindowState,
  sizes: { readonly passages: number; readonly metadata: number },
  cutTokens: readonly number[],
): {
  data: Record<(typeof GROWING)[number], Uint8Array>;
  state: Omit<WindowState, "digest">;
} {
  const packed = passages.map((passage, i) => packPassage(passage, cutTokens[i]));
  const fields = passages.map(packFields);
  let { tokens, longestKey } = before;
  let { passages: byte, metadata: fieldByte } = sizes;
  const offsets = before === EMPTY ? [0n, 0n] : [];
  const fieldOffsets = before === EMPTY ? [0n] : [];
  for (const [i, { length }] of packed.entries()) {
    tokens += keys[i]!.length / dimension;
    byte += length;
    offsets.push(BigInt(tokens), BigInt(byte));
    fieldByte += fields[i]!.length;
    fieldOffsets.push(BigInt(fieldByte));
  }
  for (const key of keys) longestKey = Math.max(longestKey, longestRow(key, dimension));
  return {
    data: {
      "passages.deflate": Buffer.concat(packed),
      "offsets.u64": viewBytes(BigUint64Array.from(offsets)),
      "metadata.json": Buffer.concat(fields),
      "metadata.u64": viewBytes(BigUint64Array.from(fieldOffsets)),
      "keys.f32": Buffer.concat(keys.map(viewBytes)),
    },
    state: {
      ...{ passages: before.passages + passages.length, tokens, longestKey },
      cut: {
        passages: before.cut.passages + cutTokens.filter((count) => count > 0).length,
        tokens: before.cut.tokens + cutTokens.reduce((sum, count) => sum + count, 0),
      },
    },
  };
}
