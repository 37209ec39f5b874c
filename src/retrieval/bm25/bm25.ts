/**
 * BM25, the lexical baseline and the first candidate retriever of training. Source: Robertson and
 * Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), in the form that Lucene
 * uses since version 8.
 */

import { InputError } from "../../io/errors.ts";
import type { Passage } from "../../text/passage.ts";
import { TopK } from "../scoring/top-k.ts";
import { analyse } from "./analysis.ts";
import {
  BLOCK_PASSAGES,
  buildInvertedIndex,
  type InvertedIndex,
  type InvertedIndexOptions,
  type PostingBlock,
  postingsOf,
} from "./inverted-index.ts";

export interface Bm25Parameters {
  /** Saturation of term frequency; with 0, repetitions of a term do not count. Default 0.9. */
  k1: number;
  /** Length normalisation, from 0 (none) to 1. Default 0.4. */
  b: number;
}

/** The values of Pyserini. Lucene and the baseline of BEIR use k1 1.2 and b 0.75. */
export const DEFAULT_PARAMETERS: Readonly<Bm25Parameters> = { k1: 0.9, b: 0.4 };

/** Parameters that a caller may leave out. */
export type GivenParameters = {
  readonly [Name in keyof Bm25Parameters]?: Bm25Parameters[Name] | undefined;
};

export interface Bm25SearchOptions extends GivenParameters {
  /** Whether the search may return the passage with this id. Default: every passage. */
  readonly accept?: ((id: string) => boolean) | undefined;
}

/** The id of a passage and its score. */
export interface ScoredId {
  readonly id: string;
  readonly score: number;
}

/** What BM25 knows about a collection besides the passages that it scores. */
export interface CollectionStatistics {
  /** Number of passages. */
  readonly size: number;
  /** The mean number of terms of a passage. */
  readonly averageLength: number;
  /** The number of passages with a term. */
  documentFrequency(term: string): number;
}

export interface Bm25 extends CollectionStatistics {
  /**
   * The `topK` best passages that share a term with the query, best first. Passages with equal
   * scores come in the order in which they were indexed. Exact: the search reads every posting of
   * every query term.
   */
  search(query: string, topK: number, options?: Bm25SearchOptions): ScoredId[];
  /** The score of each passage in `ids`; 0 for a passage that is not in the index. */
  score(query: string, ids: readonly string[], parameters?: GivenParameters): number[];
}

/**
 * Indexes title and text of passages for BM25:
 *
 *     score(q, p) = sum over terms t of q:  idf(t) * tf / (tf + k1 * (1 - b + b * |p| / avgdl))
 *     idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))
 *
 * Here tf is the number of occurrences of t in p, |p| the number of terms of p, avgdl the mean of
 * |p|, df the number of passages with t, and N the number of passages. A term that occurs twice in
 * the query counts twice. Lucene stores |p| in one byte (lengths above 40 are rounded) and scores
 * in float32. Here lengths are exact and scores are float64, so rankings differ from Lucene's where
 * scores are close.
 *
 * A million passages of 100 words have about 51 million postings of 4 bytes. With terms and ids the
 * process takes 0.5 GB.
 *
 * @param collection where N, df and avgdl come from. Default: the passages themselves.
 * @throws {InputError} if `k1` or `b` is out of range
 */
export async function buildBm25(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  options: InvertedIndexOptions & Partial<Bm25Parameters> = {},
  collection?: CollectionStatistics,
): Promise<Bm25> {
  const defaults = checkedParameters(options, DEFAULT_PARAMETERS);
  const index = await buildInvertedIndex(passages, options);
  const own: CollectionStatistics = {
    size: index.ids.length,
    averageLength: index.averageLength,
    documentFrequency: (term) => frequencyOf(index, term),
  };
  const statistics = collection ?? own;
  const scores = new Float64Array(Math.min(index.ids.length, BLOCK_PASSAGES));
  let ordinals: Map<string, number> | undefined;
  return {
    ...own,
    search(query, topK, { accept, ...given } = {}) {
      const best = new TopK(topK);
      const parameters = checkedParameters(given, defaults);
      for (const { first, length } of scoreBlocks(index, statistics, scores, query, parameters))
        for (let place = 0; place < length; place++)
          if (scores[place]! > 0 && (accept?.(index.ids[first + place]!) ?? true))
            best.push(first + place, scores[place]!);
      const found = best.take().slice(0, topK);
      return found.map(({ ordinal, score }) => ({ id: index.ids[ordinal]!, score }));
    },
    score(query, ids, given = {}) {
      ordinals ??= new Map(index.ids.map((id, ordinal) => [id, ordinal]));
      const wanted = ids.map((id) => ordinals!.get(id) ?? -1);
      const found = new Array<number>(ids.length).fill(0);
      const parameters = checkedParameters(given, defaults);
      for (const { first, length } of scoreBlocks(index, statistics, scores, query, parameters))
        for (const [i, ordinal] of wanted.entries())
          if (ordinal >= first && ordinal < first + length) found[i] = scores[ordinal - first]!;
      return found;
    },
  };
}

/** Scores block after block into `scores`. Yields each block that has a term of the query. */
function* scoreBlocks(
  index: InvertedIndex,
  statistics: CollectionStatistics,
  scores: Float64Array,
  query: string,
  parameters: Bm25Parameters,
): Generator<{ first: number; length: number }> {
  const weights = termWeights(index, statistics, query);
  for (const [i, block] of index.blocks.entries()) {
    scores.fill(0);
    let matched = false;
    for (const [term, weight] of weights) {
      const [start, end] = postingsOf(block, term);
      addTerm(scores, block, start, end, weight, parameters, statistics.averageLength);
      matched ||= end > start;
    }
    if (matched) yield { first: i * BLOCK_PASSAGES, length: block.lengths.length };
  }
}

/** The inverse document frequency of a term: ln(1 + (N - df + 0.5) / (df + 0.5)). */
export function inverseDocumentFrequency(passages: number, frequency: number): number {
  return Math.log(1 + (passages - frequency + 0.5) / (frequency + 0.5));
}

/** The weight of each query term that the index has: idf times occurrences in the query. */
function termWeights(
  { vocabulary }: InvertedIndex,
  { size, documentFrequency }: CollectionStatistics,
  query: string,
): Map<number, number> {
  const occurrences = new Map<string, number>();
  for (const term of analyse(query))
    if (vocabulary.has(term)) occurrences.set(term, (occurrences.get(term) ?? 0) + 1);
  return new Map(
    Array.from(occurrences, ([term, count]) => [
      vocabulary.get(term)!,
      count * inverseDocumentFrequency(size, documentFrequency(term)),
    ]),
  );
}

/** The number of passages with a term. */
function frequencyOf({ blocks, vocabulary }: InvertedIndex, term: string): number {
  const number = vocabulary.get(term);
  if (number === undefined) return 0;
  return blocks.reduce((passages, block) => {
    const [start, end] = postingsOf(block, number);
    return passages + end - start;
  }, 0);
}

function addTerm(
  scores: Float64Array,
  { places, frequencies, lengths }: PostingBlock,
  start: number,
  end: number,
  weight: number,
  { k1, b }: Bm25Parameters,
  averageLength: number,
): void {
  const constant = k1 * (1 - b);
  const perTerm = (k1 * b) / averageLength;
  for (let posting = start; posting < end; posting++) {
    const place = places[posting]!;
    const frequency = frequencies[posting]!;
    scores[place]! += (weight * frequency) / (frequency + constant + perTerm * lengths[place]!);
  }
}

function checkedParameters(
  { k1, b }: GivenParameters,
  defaults: Readonly<Bm25Parameters>,
): Bm25Parameters {
  const parameters = { k1: k1 ?? defaults.k1, b: b ?? defaults.b };
  const remedy = `choose another value, or leave it out for ${defaults.k1} and ${defaults.b}`;
  if (!(parameters.k1 >= 0 && parameters.k1 < Infinity)) {
    throw new InputError({ where: "BM25's k1", expected: "0 or more", got: String(k1), remedy });
  }
  if (!(parameters.b >= 0 && parameters.b <= 1)) {
    throw new InputError({ where: "BM25's b", expected: "0 to 1", got: String(b), remedy });
  }
  return parameters;
}
