/**
 * Writes a segment of float32 keys, window by window. Each window is durable before the next.
 * manifest.ts has the layout.
 */

import { basename, join } from "node:path";
import type { Passage } from "../../../text/passage.ts";
import { longestRow } from "../../scoring/vectors.ts";
import type { IndexHeader, SegmentRecord } from "../format/manifest.ts";
import { completeSegment, viewBytes, writeParts } from "../format/new-files.ts";
import { packPassage, unpackPassage } from "../format/packed-passage.ts";
import { openGrowingFiles, type ResumePoint } from "./growing-files.ts";

/** The files that grow with every window. */
const GROWING = ["passages.deflate", "offsets.u64", "keys.f32"] as const;

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
  /** SHA-256 of all passages so far. */
  readonly digest: string;
}

export interface SegmentWriter extends AsyncDisposable {
  /** The durable windows. */
  readonly resumePoints: readonly ResumePoint<WindowState>[];
  /**
   * Appends a window and makes it durable. `keys[i]` is [tokens of passage i, dimension]; `digest`
   * covers all passages up to its end.
   */
  append(
    passages: readonly Passage[],
    keys: readonly Float32Array[],
    digest: string,
  ): Promise<void>;
  /** Drops the windows after the first `count`. */
  rewind(count: number): Promise<void>;
  /** Reads a passage of a durable window. */
  passage(ordinal: number): Promise<Passage>;
  /** Completes the segment. `ids` is the sorted table of all its ids. */
  seal(ids: BigUint64Array): Promise<SegmentRecord>;
}

/**
 * Opens the segment at `path`: a new one, or the complete windows of an interrupted build with the
 * same plan.
 */
export async function openSegmentWriter(path: string, plan: BuildPlan): Promise<SegmentWriter> {
  const { dimension } = plan.header;
  const files = await openGrowingFiles<(typeof GROWING)[number], WindowState>(path, GROWING, plan);
  return {
    get resumePoints() {
      return files.resumePoints;
    },
    append(passages, keys, digest) {
      const before = files.resumePoints.at(-1) ?? EMPTY;
      const firstByte = files.checksums["passages.deflate"].bytes;
      const { data, state } = packWindow(passages, keys, digest, dimension, before, firstByte);
      return files.append(data, state);
    },
    rewind: (count) => files.rewind(count),
    async passage(ordinal) {
      const offsets = await files.read("offsets.u64", 16 * ordinal, 32); // its row and the next
      const [start, end] = [8, 24].map((at) => Number(offsets.readBigUInt64LE(at))) as [
        number,
        number,
      ];
      return unpackPassage(await files.read("passages.deflate", start, end - start));
    },
    async seal(ids) {
      const { passages, tokens, longestKey } = files.resumePoints.at(-1)!;
      const checksums = {
        "passages.deflate": files.checksums["passages.deflate"],
        "offsets.u64": files.checksums["offsets.u64"],
        "ids.u64": await writeParts(join(path, "ids.u64"), [ids]),
        "keys.f32": files.checksums["keys.f32"],
      };
      const records = await completeSegment(path, checksums);
      return { name: basename(path), passages, tokens, longestKey, files: records };
    },
    [Symbol.asyncDispose]: () => files[Symbol.asyncDispose](),
  };
}

const EMPTY: WindowState = { passages: 0, tokens: 0, longestKey: 0, digest: "" };

/** The bytes of a window for each file, and the state of the segment after it. */
function packWindow(
  passages: readonly Passage[],
  keys: readonly Float32Array[],
  digest: string,
  dimension: number,
  before: WindowState,
  firstByte: number,
): { data: Record<(typeof GROWING)[number], Uint8Array>; state: WindowState } {
  const packed = passages.map(packPassage);
  let { tokens, longestKey } = before;
  let byte = firstByte;
  const offsets = before === EMPTY ? [0n, 0n] : [];
  for (const [i, { length }] of packed.entries()) {
    tokens += keys[i]!.length / dimension;
    byte += length;
    offsets.push(BigInt(tokens), BigInt(byte));
  }
  for (const key of keys) longestKey = Math.max(longestKey, longestRow(key, dimension));
  return {
    data: {
      "passages.deflate": Buffer.concat(packed),
      "offsets.u64": viewBytes(BigUint64Array.from(offsets)),
      "keys.f32": Buffer.concat(keys.map(viewBytes)),
    },
    state: { passages: before.passages + passages.length, tokens, longestKey, digest },
  };
}
