/** The segments of an index as one: passages and token keys by ordinal, read from disk. */

import type { Passage } from "../../../text/passage.ts";
import { type Awaitable, chain, together } from "./awaitable.ts";
import { decodeLists } from "./lists.ts";
import type { Segment } from "./segment.ts";

/** Tokens whose scores are computed at once: keys and scores of a question stay in a processor's cache. */
export const PIECE_TOKENS = 16_384;

/** The keys of some passages. */
export interface KeyPiece {
  /** Of the passages, ascending. */
  readonly ordinals: Uint32Array;
  /** First token of each passage within the piece, and the end of the last: [passages + 1]. */
  readonly starts: Uint32Array;
  /** [tokens, dimension] */
  readonly keys: Float32Array;
}

/** What a search engine may ask of an index. */
export interface KeyStore {
  readonly dimension: number;
  /** Ordinals are below this; deleted passages keep theirs. */
  readonly ordinalCount: number;
  /** Of deleted passages, too. */
  readonly keyCount: number;
  /** The greatest Euclidean length of a key. */
  readonly longestKey: number;
  /**
   * All keys in order, in pieces of about 16,000 tokens, from the piece numbered `from` on; the next is read while the
   * caller works on one.
   */
  pieces(options?: {
    readonly from?: number;
    readonly signal?: AbortSignal | undefined;
  }): AsyncGenerator<KeyPiece>;
  /** [tokens, dimension] of one passage. */
  keys(ordinal: number): Promise<Float32Array>;
}

export interface PassageStore extends KeyStore {
  readonly passageCount: number;
  readonly tokenCount: number;
  /** False of deleted passages. */
  isAlive(ordinal: number): boolean;
  passage(ordinal: number): Promise<Passage>;
  find(id: string): Promise<number | undefined>;
  /** The keys of each of some passages as the codec has them. */
  codes(ordinals: Uint32Array): Awaitable<Uint8Array[]>;
  /** The ordinals of the passages that have a key of this centroid, ascending. Only in a compressed index. */
  list(centroid: number): Awaitable<Uint32Array>;
}

interface PieceRange {
  readonly segment: Segment;
  /** In the segment. */
  readonly firstPassage: number;
  readonly passages: number;
  /** Ordinal of the segment's first passage in the index. */
  readonly base: number;
}

export function openStore(segments: readonly Segment[], dimension: number): PassageStore {
  const { counts, bases } = countPassages(segments);
  const locate = (ordinal: number): [Segment, number] => {
    const i = lastAtMost(bases.length, (i) => bases[i]!, ordinal);
    return [segments[i]!, ordinal - bases[i]!];
  };
  let ranges: Promise<PieceRange[]> | undefined;
  return {
    dimension,
    ...counts,
    async *pieces({ from = 0, signal } = {}) {
      ranges ??= planPieces(segments, bases);
      yield* readPieces((await ranges).slice(from), signal);
    },
    isAlive(ordinal) {
      const [segment, local] = locate(ordinal);
      return segment.isAlive(local);
    },
    async keys(ordinal) {
      const [segment, local] = locate(ordinal);
      return segment.keys(local, 1);
    },
    codes: (ordinals) =>
      together(
        Array.from(ordinals, (ordinal) => {
          const [segment, local] = locate(ordinal);
          return segment.codes(local, 1);
        }),
      ),
    async passage(ordinal) {
      const [segment, local] = locate(ordinal);
      return segment.passage(local);
    },
    async find(id) {
      for (const [i, segment] of segments.entries()) {
        const ordinal = await segment.find(id);
        if (ordinal !== undefined && segment.isAlive(ordinal)) return bases[i]! + ordinal;
      }
      return undefined;
    },
    list: (centroid) =>
      chain(together(segments.map((segment) => segment.list(centroid))), (lists) =>
        decodeLists(lists, bases),
      ),
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

/** The last of `count` ascending values that is at most `limit`, -1 where none is. */
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

const PLAN_PASSAGES = 65_536; // a MB of offsets at a time

/** Cuts the passages into runs of at most `PIECE_TOKENS` tokens, one passage at least. */
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
