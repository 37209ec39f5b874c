/**
 * Writes a segment of float32 keys, or of keys that wait for a codebook, window by window. Each
 * window is durable before the next. manifest.ts has the layout.
 */

import { basename, join } from "node:path";
import type { Passage } from "../../../text/passage.ts";
import { float32Decoder } from "../../codec/codec.ts";
import { encodeInt8Keys } from "../../codec/int8-keys.ts";
import { longestRow } from "../../scoring/vectors.ts";
import type { CutText, IndexHeader, SegmentRecord } from "../format/manifest.ts";
import { completeSegment, viewBytes, withoutEmptyFiles, writeParts } from "../format/new-files.ts";
import { packFields, packPassage, unpackPassage } from "../format/packed-passage.ts";
import { COMPRESSED_TOKENS } from "./automatic-bits.ts";
import { type GrowingFiles, openGrowingFiles, type ResumePoint } from "./growing-files.ts";

/** The files that grow with every window. */
const GROWING = [
  "passages.deflate",
  "offsets.u64",
  "metadata.json",
  "metadata.u64",
  "states.bin",
  "states.u64",
  "keys.f32",
  "keys.i8",
] as const;

/** Keys that are coded anew together: some MB. */
const RECODED_KEYS = 8_192;

type GrowingFile = (typeof GROWING)[number];

/** A build resumes an interrupted one if their plans are equal. */
export interface BuildPlan {
  readonly header: IndexHeader;
  /** Passages between two resume points. */
  readonly windowPassages: number;
  /**
   * The keys wait for a codebook. They are float32 as long as they may be too few for one, and all
   * of them int8 afterwards (int8-keys.ts).
   */
  readonly waiting: boolean;
}

/** A window of passages as the files of a segment hold it. */
export interface EncodedWindow {
  readonly passages: readonly Passage[];
  /** [tokens, dimension] of each passage */
  readonly keys: readonly Float32Array[];
  /** The packed states of each passage (packed-states.ts); none if the index holds no states. */
  readonly states: readonly Uint8Array[];
  /** The number of tokens of each passage without keys. */
  readonly cutTokens: readonly number[];
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
  /** Appends a window and makes it durable. `digest` covers all passages up to its end. */
  append(window: EncodedWindow, digest: string): Promise<void>;
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
  const files: SegmentFiles = await openGrowingFiles(path, GROWING, {
    ...plan,
    files: GROWING, // an earlier reatt wrote others
  });
  return {
    get resumePoints() {
      return files.resumePoints;
    },
    async append(window, digest) {
      const before = files.resumePoints.at(-1) ?? EMPTY;
      const sizeOf = (name: GrowingFile) => files.checksums[name].bytes;
      const { data, state } = packWindow(window, dimension, before, sizeOf);
      const isInt8 = plan.waiting && state.tokens >= COMPRESSED_TOKENS;
      const keys = isInt8
        ? { "keys.i8": await int8Keys(files, window.keys, dimension), "keys.f32": [] }
        : { "keys.f32": window.keys.map(viewBytes), "keys.i8": [] }; // not joined, to save memory
      await files.append({ ...data, ...keys }, { ...state, digest });
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
      const { "keys.f32": float32, "keys.i8": int8, ...others } = files.checksums;
      const checksums = {
        ...others,
        "ids.u64": await writeParts(join(path, "ids.u64"), [ids]),
        ...(int8.bytes > 0 ? { "keys.i8": int8 } : { "keys.f32": float32 }),
      };
      const records = await completeSegment(path, withoutEmptyFiles(checksums));
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

type SegmentFiles = GrowingFiles<GrowingFile, WindowState>;

/** The keys of a window as int8, after those of all earlier ones if these are float32 alone. */
async function int8Keys(
  files: SegmentFiles,
  keys: readonly Float32Array[],
  dimension: number,
): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = [];
  if (files.checksums["keys.i8"].bytes === 0) {
    const { decode } = float32Decoder(dimension);
    const { bytes } = files.checksums["keys.f32"];
    const step = 4 * dimension * RECODED_KEYS;
    for (let at = 0; at < bytes; at += step) {
      const part = await files.read("keys.f32", at, Math.min(step, bytes - at));
      parts.push(encodeInt8Keys(decode(part), dimension));
    }
  }
  return [...parts, ...keys.map((own) => encodeInt8Keys(own, dimension))];
}

/** The counts of cut text as a manifest has them. */
export const recordedCut = (cut: CutText): { readonly cut?: CutText } =>
  cut.passages > 0 ? { cut } : {};

/**
 * The bytes of a window for each file but those of keys, and the state of the segment after it.
 *
 * @param sizeOf the size of a file before the window
 */
function packWindow(
  { passages, keys, states, cutTokens }: EncodedWindow,
  dimension: number,
  before: WindowState,
  sizeOf: (name: GrowingFile) => number,
): {
  data: Record<Exclude<GrowingFile, `keys.${string}`>, readonly Uint8Array[]>;
  state: Omit<WindowState, "digest">;
} {
  const packed = passages.map((passage, i) => packPassage(passage, cutTokens[i]));
  const fields = passages.map(packFields);
  const counts = keys.map(({ length }) => length / dimension);
  const tokenEnds = endsOf(counts, before.tokens);
  const byteEnds = endsOf(lengthsOf(packed), sizeOf("passages.deflate"));
  const starts = (ends: readonly bigint[], first: readonly bigint[] = [0n]): Uint8Array[] => [
    viewBytes(BigUint64Array.from(before === EMPTY ? [...first, ...ends] : ends)),
  ];
  const stateLengths = passages.map((_, i) => states[i]?.length ?? 0);
  return {
    data: {
      "passages.deflate": [Buffer.concat(packed)],
      "offsets.u64": starts(
        tokenEnds.flatMap((end, i) => [end, byteEnds[i]!]),
        [0n, 0n],
      ),
      "metadata.json": [Buffer.concat(fields)],
      "metadata.u64": starts(endsOf(lengthsOf(fields), sizeOf("metadata.json"))),
      "states.bin": states,
      "states.u64": starts(endsOf(stateLengths, sizeOf("states.bin"))),
    },
    state: {
      passages: before.passages + passages.length,
      tokens: Number(tokenEnds.at(-1)),
      longestKey: Math.max(before.longestKey, ...keys.map((key) => longestRow(key, dimension))),
      cut: {
        passages: before.cut.passages + cutTokens.filter((count) => count > 0).length,
        tokens: before.cut.tokens + cutTokens.reduce((sum, count) => sum + count, 0),
      },
    },
  };
}

const lengthsOf = (parts: readonly Uint8Array[]): number[] => parts.map(({ length }) => length);

/** The ends of parts of these lengths, one after the other. The first begins at `start`. */
function endsOf(lengths: readonly number[], start: number): bigint[] {
  let end = start;
  return lengths.map((length) => {
    end += length;
    return BigInt(end);
  });
}
