/**
 * An inverted index in typed arrays, made in one pass over the passages. Source: single-pass in-memory indexing (Manning,
 * Raghavan, Schütze: Introduction to Information Retrieval, section 4.3), whose blocks are kept as blocks and not merged.
 *
 * A block is a run of passages that came one after the other. A posting costs 4 bytes: two for the passage's place in the
 * block, two for the term's frequency. A distinct term of a block costs 8 bytes, and a passage 4 and its id.
 */

import type { Passage } from "../../text/passage.ts";
import { analyse } from "./analysis.ts";

/** A place in a block is a Uint16, and the float64 scores of one block (512 KiB) stay in a processor's cache. */
export const BLOCK_PASSAGES: number = 2 ** 16;
/** A term that a passage has more often counts as if it were there so often. */
const MAX_FREQUENCY = 2 ** 16 - 1;
const PROGRESS_INTERVAL = 1_000; // passages

export interface PostingBlock {
  /** Terms of each passage, repetitions included. [passages] */
  readonly lengths: Uint32Array;
  /** The terms that occur, ascending. [terms] */
  readonly terms: Uint32Array;
  /** The postings of `terms[i]` are `starts[i]` to `starts[i + 1]`. [terms + 1] */
  readonly starts: Uint32Array;
  /** The passage of each posting, ascending within a term. [postings] */
  readonly places: Uint16Array;
  /** How often the term occurs there. [postings] */
  readonly frequencies: Uint16Array;
}

export interface InvertedIndex {
  /** Ids of the passages in the order in which they came: all blocks have BLOCK_PASSAGES, the last one the rest. */
  readonly ids: readonly string[];
  /** Term -> its number. */
  readonly vocabulary: ReadonlyMap<string, number>;
  readonly blocks: readonly PostingBlock[];
  /** Mean number of terms of a passage. */
  readonly averageLength: number;
}

export interface InvertedIndexOptions {
  signal?: AbortSignal | undefined;
  /** Told now and then, and at the end, how many passages have been read. */
  onProgress?: ((passages: number) => void) | undefined;
}

/** Indexes title and text of every passage. */
export async function buildInvertedIndex(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  { signal, onProgress }: InvertedIndexOptions = {},
): Promise<InvertedIndex> {
  const ids: string[] = [];
  const vocabulary = new Map<string, number>();
  const blocks: PostingBlock[] = [];
  let pending: Uint32Array[] = [];
  let totalLength = 0;
  for await (const { id, title, text } of passages) {
    signal?.throwIfAborted();
    const terms = analyse(`${title} ${text}`).map((term) => numberOf(vocabulary, term));
    ids.push(id);
    pending.push(Uint32Array.from(terms).sort());
    totalLength += terms.length;
    if (pending.length === BLOCK_PASSAGES) {
      blocks.push(invert(pending, vocabulary.size));
      pending = [];
    }
    if (ids.length % PROGRESS_INTERVAL === 0) onProgress?.(ids.length);
  }
  if (pending.length > 0) blocks.push(invert(pending, vocabulary.size));
  onProgress?.(ids.length);
  return { ids, vocabulary, blocks, averageLength: totalLength / ids.length };
}

/** Where the postings of a term begin and end in a block; an empty range where it does not occur. */
export function postingsOf(
  { terms, starts }: PostingBlock,
  term: number,
): [start: number, end: number] {
  let low = 0;
  let high = terms.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (terms[middle]! < term) low = middle + 1;
    else high = middle;
  }
  return terms[low] === term ? [starts[low]!, starts[low + 1]!] : [0, 0];
}

function numberOf(vocabulary: Map<string, number>, term: string): number {
  const known = vocabulary.get(term);
  if (known !== undefined) return known;
  vocabulary.set(term, vocabulary.size);
  return vocabulary.size - 1;
}

/** Turns the sorted terms of each passage into the passages of each term: a counting sort, which keeps passages in order. */
function invert(passages: readonly Uint32Array[], vocabularySize: number): PostingBlock {
  const counts = new Uint32Array(vocabularySize);
  for (const passage of passages) forEachRun(passage, (term) => counts[term]!++);
  const terms = Uint32Array.from(counts.keys()).filter((term) => counts[term]! > 0);
  const starts = new Uint32Array(terms.length + 1);
  terms.forEach((term, i) => {
    starts[i + 1] = starts[i]! + counts[term]!;
  });
  const next = counts; // where the next posting of a term goes
  terms.forEach((term, i) => {
    next[term] = starts[i]!;
  });
  const postings = starts[terms.length]!;
  const places = new Uint16Array(postings);
  const frequencies = new Uint16Array(postings);
  passages.forEach((passage, place) => {
    forEachRun(passage, (term, length) => {
      const posting = next[term]!++;
      places[posting] = place;
      frequencies[posting] = Math.min(length, MAX_FREQUENCY);
    });
  });
  return {
    lengths: Uint32Array.from(passages, ({ length }) => length),
    terms,
    starts,
    places,
    frequencies,
  };
}

/** Calls `visit` for each run of equal terms. */
function forEachRun(sorted: Uint32Array, visit: (term: number, length: number) => void): void {
  for (let start = 0, end = 1; start < sorted.length; start = end++) {
    while (sorted[end] === sorted[start]) end++;
    visit(sorted[start]!, end - start);
  }
}
