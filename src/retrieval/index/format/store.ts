/** The segments of an index as one store: passages and token keys by ordinal, read from disk. */

import { setImmediate } from "node:timers/promises";
import type { Passage } from "../../../text/passage.ts";
import { type PassageFields, unpackFields } from "./packed-passage.ts";
import { fileOf, findAlive, type Segment } from "./segment.ts";

/** Tokens in a piece. Keys and scores of a piece fit in the cache of a processor. */
export const PIECE_TOKENS = 16_384;

/** The keys of consecutive or gathered passages. */
export interface KeyPiece {
  /** The ordinals of the passages. */
  readonly ordinals: Uint32Array;
  /** The first token of each passage in the piece, and the end of the last: [passages + 1]. */
  readonly starts: Uint32Array;
  /** [tokens, dimension] */
  readonly keys: Float32Array;
}

/** What a search engine reads of an index. */
export interface KeyStore {
  readonly dimension: number;
  /** All ordinals are below this value. Deleted passages keep their ordinals. */
  readonly ordinalCount: number;
  /** Keys of all passages, deleted ones included. */
  readonly keyCount: number;
  /** The greatest Euclidean length of a key. */
  readonly longestKey: number;
  /**
   * All keys in order, in pieces of about 16,000 tokens, from piece number `from`. The next piece
   * is read while the caller works on one.
   */
  pieces(options?: {
    readonly from?: number;
    readonly signal?: AbortSignal | undefined;
  }): AsyncGenerator<KeyPiece>;
  /** The keys of one passage: [tokens, dimension]. */
  keys(ordinal: number): Promise<Float32Array>;
}

export interface PassageStore extends KeyStore {
  readonly passageCount: number;
  readonly tokenCount: number;
  /** False for deleted passages. */
  isAlive(ordinal: number): boolean;
  passage(ordinal: number): Promise<Passage>;
  /**
   * The packed states of a passage (packed-states.ts) and their file. There are no bytes if the
   * index holds no states.
   */
  packedStates(ordinal: number): Promise<{ readonly packed: Uint8Array; readonly file: string }>;
  /** The document id and metadata of each passage that has one of them, with its ordinal. */
  fields(): AsyncGenerator<[ordinal: number, fields: PassageFields]>;
  find(id: string): Promise<number | undefined>;
  /** All passages that are not deleted. */
  entries(): AsyncGenerator<[ordinal: number, passage: Passage], void>;
}

interface PieceRange {
  readonly segment: Segment;
  /** Ordinal in the segment. */
  readonly firstPassage: number;
  readonly passages: number;
  /** Ordinal in the index of the first passage of the segment. */
  readonly base: number;
}

export function openStore(segments: readonly Segment[], dimension: number): PassageStore {
  const { counts, bases } = countPassages(segments);
  const locate = (ordinal: number): [Segment, number] => {
    const i = lastAtMost(bases.length, (i) => bases[i]!, ordinal);
    return [segments[i]!, ordinal - bases[i]!];
  };
  let ranges: Promise<PieceRange[]> | undefined;
  const isAlive = (ordinal: number): boolean => {
    const [segment, local] = locate(ordinal);
    return segment.isAlive(local);
  };
  const passage = async (ordinal: number): Promise<Passage> => {
    const [segment, local] = locate(ordinal);
    return segment.passage(local);
  };
  return {
    dimension,
    ...counts,
    async *pieces({ from = 0, signal } = {}) {
      ranges ??= planPieces(segments, bases);
      yield* readPieces((await ranges).slice(from), signal);
    },
    isAlive,
    async keys(ordinal) {
      const [segment, local] = locate(ordinal);
      return segment.keys(local, 1);
    },
    passage,
    async packedStates(ordinal) {
      const [segment, local] = locate(ordinal);
      const packed = await segment.packedStates(local);
      return { packed, file: fileOf(segment, "states.bin") };
    },
    async *fields() {
      for (const [i, segment] of segments.entries())
        for (let first = 0; first < segment.record.passages; first += FIELDS_PER_READ) {
          await setImmediate(); // blocks in memory are read at once, and others use the process too
          const count = Math.min(FIELDS_PER_READ, segment.record.passages - first);
          for (const [at, packed] of (await segment.packedFields(first, count)).entries())
            if (packed.length > 0)
              yield [
                bases[i]! + first + at,
                unpackFields(packed, fileOf(segment, "metadata.json")),
              ];
        }
    },
    async find(id) {
      const found = await findAlive(segments, id);
      return found && bases[found.position]! + found.ordinal;
    },
    async *entries() {
      for (let ordinal = 0; ordinal < counts.ordinalCount; ordinal++)
        if (isAlive(ordinal)) yield [ordinal, await passage(ordinal)];
    },
  };
}

type StoreCounts = Pick<
  PassageStore,
  "ordinalCount" | "keyCount" | "passageCount" | "tokenCount" | "longestKey"
>;

/** Sums over all segments, and the ordinal of the first passage of each segment. */
function countPassages(segments: readonly Segment[]): { counts: StoreCounts; bases: number[] } {
  const bases: number[] = [];
  const counts = { ordinalCount: 0, keyCount: 0, passageCount: 0, tokenCount: 0, longestKey: 0 };
  for (const { record } of segments) {
    const { passages, tokens, deleted } = record;
    bases.push(counts.ordinalCount);
    counts.ordinalCount += passages;
    counts.keyCount += tokens;
    counts.passageCount += passages - (deleted?.passages ?? 0);
    counts.tokenCount += tokens - (deleted?.tokens ?? 0);
    counts.longestKey = Math.max(counts.longestKey, record.longestKey);
  }
  return { counts, bases };
}

/** Reads the next piece while the caller works on one. */
async function* readPieces(
  ranges: readonly PieceRange[],
  signal: AbortSignal | undefined,
): AsyncGenerator<KeyPiece> {
  let next = ranges[0] && readPiece(ranges[0]);
  for (let i = 1; next; i++) {
    const piece = await next;
    signal?.throwIfAborted();
    next = ranges[i] && readPiece(ranges[i]!);
    next?.catch(() => {}); // the await above throws it, unless the caller stops before
    yield piece;
  }
}

async function readPiece({ segment, firstPassage, passages, base }: PieceRange): Promise<KeyPiece> {
  const tokens = await segment.tokenStarts(firstPassage, passages);
  const start = tokens[0]!;
  return {
    ordinals: Uint32Array.from({ length: passages }, (_, p) => base + firstPassage + p),
    starts: Uint32Array.from(tokens, (token) => token - start),
    keys: await segment.keys(firstPassage, passages),
  };
}

/**
 * The position of the last of `count` ascending values that is at most `limit`; -1 if there is
 * none.
 */
function lastAtMost(count: number, value: (i: number) => number, limit: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (value(middle) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

const FIELDS_PER_READ = 1_024; // passages, usually some 100 kB
const PLAN_PASSAGES = 65_536; // 1 MB of offsets

/**
 * Cuts the passages into ranges of at most `PIECE_TOKENS` tokens, with at least one passage each.
 */
async function planPieces(
  segments: readonly Segment[],
  bases: readonly number[],
): Promise<PieceRange[]> {
  const ranges: PieceRange[] = [];
  for (const [i, segment] of segments.entries()) {
    const { passages } = segment.record;
    let firstPassage = 0;
    let firstToken = 0;
    const cut = (end: number) => {
      ranges.push({ segment, base: bases[i]!, firstPassage, passages: end - firstPassage });
      firstPassage = end;
    };
    for (let from = 0; from < passages; from += PLAN_PASSAGES) {
      const starts = await segment.tokenStarts(from, Math.min(PLAN_PASSAGES, passages - from));
      for (let p = 0; p + 1 < starts.length; p++)
        if (starts[p + 1]! - firstToken > PIECE_TOKENS && from + p > firstPassage) {
          cut(from + p);
          firstToken = starts[p]!;
        }
    }
    if (firstPassage < passages) cut(passages);
  }
  return ranges;
}
