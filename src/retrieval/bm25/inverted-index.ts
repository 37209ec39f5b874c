/**
 * An inverted index in typed arrays, built in one pass over the passages. Source: single-pass
 * in-memory indexing (Manning, Raghavan, Schütze: Introduction to Information Retrieval, section
 * 4.3). Its blocks are not merged.
 *
 * A block holds the postings of consecutive passages. A posting takes 4 bytes: two for the place of
 * the passage in the block, two for the frequency of the term. A distinct term of a block takes 8
 * bytes, a passage 4 bytes and its id.
 */

import { detectLanguages } from "../../text/detect-languages.ts";
import { type Language, scriptOf } from "../../text/languages.ts";
import type { Passage } from "../../text/passage.ts";
import { type Analyser, openAnalyser } from "../../text/terms.ts";
import { type Substitutes, substitutesOf, Vocabulary } from "./substitutes.ts";

/**
 * A place in a block is a Uint16. The float64 scores of a block (512 KiB) fit in the cache of a
 * processor.
 */
export const BLOCK_PASSAGES: number = 2 ** 16;
/** The greatest term frequency that is stored. */
const MAX_FREQUENCY = 2 ** 16 - 1;
const PROGRESS_INTERVAL = 1_000; // passages

export interface PostingBlock {
  /** The ordinal of its first passage. */
  readonly first: number;
  /** The number of terms of each passage, repetitions included: [passages]; 0 if it is absent. */
  readonly lengths: Uint32Array;
  /** The terms that occur in the block, ascending: [terms]. */
  readonly terms: Uint32Array;
  /** The postings of `terms[i]` are `starts[i]` to `starts[i + 1]`: [terms + 1]. */
  readonly starts: Uint32Array;
  /** The passage of each posting, ascending within a term: [postings]. */
  readonly places: Uint16Array;
  /** The frequency of the term in that passage: [postings]. */
  readonly frequencies: Uint16Array;
}

/** The postings of some terms, or of all. */
export interface Postings {
  /** The number of passages. */
  readonly size: number;
  /** The number of each term. */
  readonly vocabulary: ReadonlyMap<string, number>;
  /** In the order of the ordinals. */
  readonly blocks: readonly PostingBlock[];
  /** Mean number of terms of a passage. */
  readonly averageLength: number;
  /** What makes the terms of passages and queries. */
  readonly analyser: Analyser;
  /** What completes a question's terms. Default: nothing. */
  readonly substitutes?: ((terms: readonly string[]) => Substitutes) | undefined;
}

export interface InvertedIndex extends Postings {
  /** Ids by ordinal; "" where there is no passage. */
  readonly ids: readonly string[];
}

export interface InvertedIndexOptions {
  /**
   * The language whose words are stemmed, of its script. Default: that of the first 200 passages.
   * For words of other scripts it is always detected.
   */
  language?: Language | undefined;
  /** Stops the work; the call then throws the reason of the signal. */
  signal?: AbortSignal | undefined;
  /** Receives the number of passages read, every 1,000 passages and at the end. */
  onProgress?: ((passages: number) => void) | undefined;
}

type NumberedPassages = AsyncIterable<readonly [ordinal: number, passage: Passage]>;

/** Passages that languages are detected from. */
export const LANGUAGE_SAMPLE = 200;

/** What is indexed of a passage. */
export const indexedText = ({ title, text }: Pick<Passage, "title" | "text">): string =>
  `${title} ${text}`;

/**
 * Indexes title and text of every passage.
 *
 * @param passages with their ordinals, which ascend and may leave some out
 * @param known an analyser that another index has. Default: one for the languages of the passages
 */
export async function buildInvertedIndex(
  passages: NumberedPassages,
  { signal, onProgress, language }: InvertedIndexOptions = {},
  known?: Analyser,
): Promise<InvertedIndex> {
  const { sample, all } = await sampled(passages, known ? 0 : LANGUAGE_SAMPLE);
  const analyser = known ?? (await openAnalyser(languagesOf(sample, language)));
  const ids: string[] = [];
  const vocabulary = new Map<string, number>();
  const blocks: PostingBlock[] = [];
  let open = new OpenBlock(0, vocabulary);
  let totalLength = 0;
  let size = 0;
  const add = (id: string, terms: readonly string[]): void => {
    ids.push(id);
    open.add(terms);
    if (open.passages < BLOCK_PASSAGES) return;
    blocks.push(open.invert());
    open = new OpenBlock(ids.length, vocabulary);
  };
  for await (const [ordinal, passage] of all) {
    signal?.throwIfAborted();
    const terms = analyser.terms(indexedText(passage));
    while (ids.length < ordinal) add("", []);
    add(passage.id, terms);
    totalLength += terms.length;
    if (++size % PROGRESS_INTERVAL === 0) onProgress?.(size);
  }
  if (open.passages > 0) blocks.push(open.invert());
  onProgress?.(size);
  let words: Vocabulary | undefined; // made at the first question that needs one
  const substitutes = (terms: readonly string[]): Substitutes =>
    substitutesOf(
      terms,
      (term) => vocabulary.has(term),
      () => (words ??= new Vocabulary(vocabulary.keys())),
    );
  const averageLength = totalLength / size;
  return { ids, size, vocabulary, blocks, averageLength, analyser, substitutes };
}

/** The first passages, and all of them in their order. */
async function sampled(
  passages: NumberedPassages,
  count: number,
): Promise<{ sample: readonly Passage[]; all: NumberedPassages }> {
  const rest = passages[Symbol.asyncIterator]();
  const first: (readonly [ordinal: number, passage: Passage])[] = [];
  while (first.length < count) {
    const { done, value } = await rest.next();
    if (done) break;
    first.push(value);
  }
  async function* all() {
    yield* first;
    yield* { [Symbol.asyncIterator]: () => rest };
  }
  return { sample: first.map(([, passage]) => passage), all: all() };
}

function languagesOf(sample: readonly Passage[], language: Language | undefined): Language[] {
  const detected = detectLanguages(sample.map(indexedText));
  if (language === undefined) return detected;
  return [language, ...detected.filter((other) => scriptOf(other) !== scriptOf(language))];
}

/** The range of the postings of a term in a block; empty if the term does not occur. */
export function postingsOf(
  { terms, starts }: PostingBlock,
  term: number,
): [start: number, end: number] {
  const at = firstFrom(terms, term, 0, terms.length);
  return terms[at] === term ? [starts[at]!, starts[at + 1]!] : [0, 0];
}

/** The posting of a term for the passage at `place` of a block; undefined if there is none. */
export function postingOf(block: PostingBlock, term: number, place: number): number | undefined {
  const [start, end] = postingsOf(block, term);
  const at = firstFrom(block.places, place, start, end);
  return at < end && block.places[at] === place ? at : undefined;
}

/** The position of the first of ascending values, from `low` on, that is not below `value`. */
function firstFrom(
  values: Uint32Array | Uint16Array,
  value: number,
  low: number,
  high: number,
): number {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Collects the terms of up to `BLOCK_PASSAGES` consecutive passages. */
export class OpenBlock {
  readonly #first: number;
  readonly #vocabulary: Map<string, number>;
  /** The sorted terms of each passage. */
  readonly #passages: Uint32Array[] = [];

  /** @param vocabulary gets the terms that it does not have */
  constructor(first: number, vocabulary: Map<string, number>) {
    this.#first = first;
    this.#vocabulary = vocabulary;
  }

  get passages(): number {
    return this.#passages.length;
  }

  /** Adds the next passage. */
  add(terms: readonly string[]): void {
    this.#passages.push(Uint32Array.from(terms, (term) => this.#numberOf(term)).sort());
  }

  /** Inverts the terms by counting sort, which keeps the order of the passages. */
  invert(): PostingBlock {
    const counts = new Uint32Array(this.#vocabulary.size);
    for (const passage of this.#passages) forEachRun(passage, (term) => counts[term]!++);
    const terms = Uint32Array.from(counts.keys()).filter((term) => counts[term]! > 0);
    const starts = new Uint32Array(terms.length + 1);
    terms.forEach((term, i) => {
      starts[i + 1] = starts[i]! + counts[term]!;
    });
    const next = counts; // the position of the next posting of each term
    terms.forEach((term, i) => {
      next[term] = starts[i]!;
    });
    const postings = starts[terms.length]!;
    const places = new Uint16Array(postings);
    const frequencies = new Uint16Array(postings);
    this.#passages.forEach((passage, place) => {
      forEachRun(passage, (term, length) => {
        const posting = next[term]!++;
        places[posting] = place;
        frequencies[posting] = Math.min(length, MAX_FREQUENCY);
      });
    });
    const lengths = Uint32Array.from(this.#passages, ({ length }) => length);
    return { first: this.#first, lengths, terms, starts, places, frequencies };
  }

  #numberOf(term: string): number {
    const known = this.#vocabulary.get(term);
    if (known !== undefined) return known;
    this.#vocabulary.set(term, this.#vocabulary.size);
    return this.#vocabulary.size - 1;
  }
}

/** Calls `visit` for each run of equal terms. */
function forEachRun(sorted: Uint32Array, visit: (term: number, length: number) => void): void {
  for (let start = 0, end = 1; start < sorted.length; start = end++) {
    while (sorted[end] === sorted[start]) end++;
    visit(sorted[start]!, end - start);
  }
}
