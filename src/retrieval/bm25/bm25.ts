/**
 * BM25, the lexical baseline and the source of the first close passages. Source: Robertson and Zaragoza, The Probabilistic
 * Relevance Framework: BM25 and Beyond (2009), in the form that Lucene has given it since version 8.
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
  /** How slowly repetitions of a term lose their worth; 0: they have none. Default 0.9. */
  k1: number;
  /** How much of a passage's length counts against it, 0 to 1. Default 0.4. */
  b: number;
}

/** Pyserini's; Lucene itself and BEIR's baseline have k1 1.2 and b 0.75. */
export const DEFAULT_PARAMETERS: Readonly<Bm25Parameters> = { k1: 0.9, b: 0.4 };

export interface Bm25SearchOptions extends Partial<Bm25Parameters> {
  /** Whether the passage with this id may be found. Default: every passage. */
  readonly accept?: ((id: string) => boolean) | undefined;
}

/** The id of a passage and how well it matched. */
export interface ScoredId {
  readonly id: string;
  readonly score: number;
}

export interface Bm25 {
  /** Number of passages. */
  readonly size: number;
  /**
   * The `topK` best passages of those that share a term with the query, best first; equal scores in the order in which the
   * passages were indexed. Exact: every posting of every query term is looked at.
   */
  search(query: string, topK: number, options?: Bm25SearchOptions): ScoredId[];
  /** The scores of the passages named, whatever their rank; 0 for a passage that is not in the index. */
  score(query: string, ids: readonly string[], parameters?: Partial<Bm25Parameters>): number[];
}

/**
 * Indexes passages for BM25, over title and text,
 *
 *     score(q, p) = sum over terms t of q:  idf(t) * tf / (tf + k1 * (1 - b + b * |p| / avgdl))
 *     idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))
 *
 * tf occurrences of t in p, |p| terms of p, avgdl the mean of |p|, df passages that have t, N passages in all. A term that
 * is twice in the query counts twice. Lucene keeps |p| in one byte (lengths above 40 are rounded) and scores in float32; here
 * lengths are exact and scores float64, so its ranking differs where scores are close.
 *
 * A million passages of 100 words have some 51 million postings of 4 bytes; with terms and ids the process takes 0.5 GB.
 */
export async function buildBm25(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  options: InvertedIndexOptions & Partial<Bm25Parameters> = {},
): Promise<Bm25> {
  const defaults = checkedParameters(options, DEFAULT_PARAMETERS);
  const index = await buildInvertedIndex(passages, options);
  const scores = new Float64Array(Math.min(index.ids.length, BLOCK_PASSAGES));
  let ordinals: Map<string, number> | undefined;
  return {
    size: index.ids.length,
    search(query, topK, { accept, ...given } = {}) {
      const best = new TopK(topK);
      const parameters = checkedParameters(given, defaults);
      for (const { first, length } of scoreBlocks(index, scores, query, parameters))
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
      for (const { first, length } of scoreBlocks(index, scores, query, parameters))
        for (const [i, ordinal] of wanted.entries())
          if (ordinal >= first && ordinal < first + length) found[i] = scores[ordinal - first]!;
      return found;
    },
  };
}

/** Scores block after block into `scores`. Yields each block that has a term of the query. */
function* scoreBlocks(
  index: InvertedIndex,
  scores: Float64Array,
  query: string,
  parameters: Bm25Parameters,
): Generator<{ first: number; length: number }> {
  const weights = termWeights(index, query);
  for (const [i, block] of index.blocks.entries()) {
    scores.fill(0);
    let matched = false;
    for (const [term, weight] of weights) {
      const [start, end] = postingsOf(block, term);
      addTerm(scores, block, start, end, weight, parameters, index.averageLength);
      matched ||= end > start;
    }
    if (matched) yield { first: i * BLOCK_PASSAGES, length: block.lengths.length };
  }
}

/** How rare a term is that `frequency` of `passages` have: ln(1 + (N - df + 0.5) / (df + 0.5)). */
export function inverseDocumentFrequency(passages: number, frequency: number): number {
  return Math.log(1 + (passages - frequency + 0.5) / (frequency + 0.5));
}

/** Query terms that the index knows -> idf times occurrences in the query. */
function termWeights(
  { ids, blocks, vocabulary }: InvertedIndex,
  query: string,
): Map<number, number> {
  const occurrences = new Map<number, number>();
  for (const term of analyse(query)) {
    const number = vocabulary.get(term);
    if (number !== undefined) occurrences.set(number, (occurrences.get(number) ?? 0) + 1);
  }
  for (const [term, count] of occurrences) {
    let passages = 0;
    for (const block of blocks) {
      const [start, end] = postingsOf(block, term);
      passages += end - start;
    }
    occurrences.set(term, count * inverseDocumentFrequency(ids.length, passages));
  }
  return occurrences;
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
  { k1, b }: Partial<Bm25Parameters>,
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
