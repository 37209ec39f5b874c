/** BM25 over the words that the segments of an index hold (words-file.ts). */

import { type Analyser, openAnalyser } from "../../text/terms.ts";
import { frequencyOf, passagesWith, scoresOver } from "../bm25/bm25.ts";
import { BLOCK_PASSAGES, type PostingBlock, type Postings } from "../bm25/inverted-index.ts";
import { isUnknownWord, substitutesOf, Vocabulary } from "../bm25/substitutes.ts";
import type { TermPostings } from "../bm25/term-pages.ts";
import { indexLanguages } from "../index/format/index-languages.ts";
import type { Segment } from "../index/format/segment.ts";
import type { SegmentWords } from "../index/format/words-file.ts";
import type { WordSearch } from "./word-search.ts";

/**
 * BM25 with the scores of `openLexicalIndex`. A question reads the postings of its terms. Undefined
 * if a segment has no words, or those of other languages.
 *
 * @throws {InputError} if words are damaged or cannot be read
 */
export async function openStoredWords(
  segments: readonly Segment[],
): Promise<WordSearch | undefined> {
  const known = await Promise.all(segments.map((segment) => segment.words()));
  if (known.some((words) => words === undefined)) return undefined;
  const languages = await indexLanguages(segments, known);
  if (known.some((words) => words!.languages.join() !== languages.join())) return undefined;
  const analyser = await openAnalyser(languages);
  const { ofQuery, ofTerms } = postingsReader(segments, known as readonly SegmentWords[], analyser);
  /** A question that is ranked is scored next. */
  let last: { readonly query: string; readonly postings: Postings } | undefined;
  const scores = async (query: string): Promise<ReturnType<typeof scoresOver>> => {
    const read = last?.query === query ? last : { query, postings: await ofQuery(query) };
    last = read;
    return scoresOver(read.postings);
  };
  return {
    analyser,
    rank: async (query, ...given) => (await scores(query)).rank(query, ...given),
    score: async (query, ...given) => (await scores(query)).score(query, ...given),
    having: async (terms) => passagesWith(await ofTerms([...new Set(terms)]), terms),
  };
}

/** Larger indexes complete no words: reading all their terms takes seconds. */
const MAX_COMPLETED_PASSAGES = 2 ** 18;

/** Reads the postings of terms, and of queries with what completes them. */
function postingsReader(
  segments: readonly Segment[],
  words: readonly SegmentWords[],
  analyser: Analyser,
): {
  readonly ofTerms: (terms: readonly string[]) => Promise<Postings>;
  readonly ofQuery: (query: string) => Promise<Postings>;
} {
  const bases: number[] = [];
  let ordinals = 0;
  let size = 0;
  let totalLength = 0;
  for (const [i, { record, isAlive }] of segments.entries()) {
    bases.push(ordinals);
    ordinals += record.passages;
    for (const [ordinal, length] of words[i]!.lengths.entries()) {
      if (!isAlive(ordinal)) continue;
      size++;
      totalLength += length;
    }
  }
  const averageLength = totalLength / size;
  const ofTerms = async (terms: readonly string[]): Promise<Postings> => {
    const vocabulary = new Map(terms.map((term, number) => [term, number]));
    const blocks = await Promise.all(
      segments.map(({ isAlive }, i) => segmentBlocks(words[i]!, bases[i]!, terms, isAlive)),
    );
    return { size, vocabulary, blocks: blocks.flat(), averageLength, analyser };
  };
  let vocabulary: Promise<Vocabulary> | undefined;
  const allWords = (): Promise<Vocabulary> => {
    const reading = vocabulary ?? readVocabulary(words);
    vocabulary = reading;
    reading.catch(() => {
      vocabulary = undefined;
    });
    return reading;
  };
  const ofQuery = async (query: string): Promise<Postings> => {
    const terms = [...new Set(analyser.terms(query))];
    const own = await ofTerms(terms);
    const has = (term: string): boolean => frequencyOf(own, term) > 0;
    const isKnown = ordinals > MAX_COMPLETED_PASSAGES || !terms.some((t) => isUnknownWord(t, has));
    const all = isKnown ? new Vocabulary([]) : await allWords();
    const substitutes = substitutesOf(analyser.terms(query), has, () => all);
    if (substitutes.size === 0) return own;
    const both = await ofTerms([...terms, ...substitutes.keys()]);
    return { ...both, substitutes: () => substitutes };
  };
  return { ofTerms, ofQuery };
}

/** The words of all segments, from every page. */
async function readVocabulary(words: readonly SegmentWords[]): Promise<Vocabulary> {
  const terms = new Set<string>();
  for (const segment of words) for await (const term of segment.terms()) terms.add(term);
  return new Vocabulary(terms);
}

/** The blocks of a segment with the postings of these terms, by their numbers. */
async function segmentBlocks(
  words: SegmentWords,
  base: number,
  terms: readonly string[],
  isAlive: (ordinal: number) => boolean,
): Promise<PostingBlock[]> {
  const postings = await Promise.all(terms.map((term) => words.postings(term, isAlive)));
  const { lengths } = words;
  return Array.from({ length: Math.ceil(lengths.length / BLOCK_PASSAGES) }, (_, block) => {
    const first = block * BLOCK_PASSAGES;
    return {
      first: base + first,
      lengths: lengths.subarray(first, first + BLOCK_PASSAGES),
      ...joined(postings.map((blocks) => blocks[block]!)),
    };
  });
}

/** The postings of terms 0, 1, ... one after the other. */
function joined(
  postings: readonly TermPostings[],
): Pick<PostingBlock, "terms" | "starts" | "places" | "frequencies"> {
  const starts = new Uint32Array(postings.length + 1);
  for (const [i, { places }] of postings.entries()) starts[i + 1] = starts[i]! + places.length;
  const places = new Uint16Array(starts.at(-1)!);
  const frequencies = new Uint16Array(starts.at(-1)!);
  for (const [i, own] of postings.entries()) {
    places.set(own.places, starts[i]!);
    frequencies.set(own.frequencies, starts[i]!);
  }
  return { terms: Uint32Array.from(postings.keys()), starts, places, frequencies };
}
