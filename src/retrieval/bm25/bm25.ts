/**
 * BM25, the lexical baseline and the first candidate retriever of training. Source: Robertson and
 * Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), in the form that Lucene
 * uses since version 8.
 */

import { InputError } from "../../io/errors.ts";
import type { Passage } from "../../text/passage.ts";
import type { Analyser } from "../../text/terms.ts";
import { type Ranking, TopK } from "../scoring/top-k.ts";
import {
  buildInvertedIndex,
  type InvertedIndex,
  type InvertedIndexOptions,
  type PostingBlock,
  type Postings,
  postingOf,
  postingsOf,
} from "./inverted-index.ts";
import type { Substitutes } from "./substitutes.ts";

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

/** Parameters of a question. */
export interface ScoreParameters extends GivenParameters {
  /**
   * How much rare terms count besides (`termWeights`): hybrid search has its own weight. Default 0,
   * which is BM25.
   */
  readonly rareWeight?: number | undefined;
  /** Whether terms that no passage has are completed (substitutes.ts). Default false. */
  readonly completes?: boolean | undefined;
}

export interface Bm25RankOptions extends ScoreParameters {
  /** Whether the ranking may have the passage. Default: every passage. */
  readonly accept?: ((ordinal: number) => boolean) | undefined;
}

/** The id of a passage and its score. */
export interface ScoredId {
  /** The id of a passage. */
  readonly id: string;
  /** Its BM25 score. */
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
  /** What makes the terms. */
  readonly analyser: Analyser;
}

/** A passage is known by its ordinal: its position among the passages that were indexed. */
export interface Bm25 extends CollectionStatistics {
  /** The ids by ordinal; of a token index with deleted passages, "" for these. */
  readonly ids: readonly string[];
  /**
   * The `topK` best passages that share a term with the query, best first; equal scores in the
   * order of the ordinals. Exact: it reads every posting of every query term.
   */
  rank(query: string, topK: number, options?: Bm25RankOptions): Ranking;
  /** As `rank`, with the ids of the passages. */
  search(query: string, topK: number, options?: Bm25RankOptions): ScoredId[];
  /** The score of each passage of `ordinals`; 0 for one without a term of the query. */
  score(query: string, ordinals: ArrayLike<number>, parameters?: ScoreParameters): Float64Array;
  /** The passages with all these terms, ascending. */
  having(terms: readonly string[]): Uint32Array;
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
  checkedParameters(options, DEFAULT_PARAMETERS); // before the passages are read
  const index = await buildInvertedIndex(withOrdinals(passages), options, collection?.analyser);
  return bm25Over(index, options, collection);
}

async function* withOrdinals(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
): AsyncGenerator<[ordinal: number, passage: Passage], void> {
  let ordinal = 0;
  for await (const passage of passages) yield [ordinal++, passage];
}

/** BM25 over an inverted index; `buildBm25` has the formula. */
export function bm25Over(
  index: InvertedIndex,
  parameters: GivenParameters = {},
  collection?: CollectionStatistics,
): Bm25 {
  const { ids, size, averageLength, analyser } = index;
  const { rank, score } = scoresOver(index, parameters, collection);
  return {
    ids,
    size,
    averageLength,
    documentFrequency: (term) => frequencyOf(index, term),
    analyser,
    rank,
    score,
    having: (terms) => passagesWith(index, terms),
    search(query, topK, options) {
      const { ordinals, scores } = rank(query, topK, options);
      return Array.from(ordinals, (ordinal, i) => ({ id: ids[ordinal]!, score: scores[i]! }));
    },
  };
}

/** The scores of BM25 over postings, which are those of the terms of the queries at least. */
export function scoresOver(
  index: Postings,
  parameters: GivenParameters = {},
  collection?: CollectionStatistics,
): Pick<Bm25, "rank" | "score"> {
  const defaults = checkedParameters(parameters, DEFAULT_PARAMETERS);
  const { size, averageLength, analyser } = index;
  const documentFrequency = (term: string): number => frequencyOf(index, term);
  const statistics = collection ?? { size, averageLength, documentFrequency, analyser };
  const longest = index.blocks.reduce((most, { lengths }) => Math.max(most, lengths.length), 0);
  const scores = new Float64Array(longest);
  const scoringOf = (query: string, parameters: ScoreParameters): Scoring => {
    const { rareWeight, completes, ...given } = parameters;
    const terms = analyser.terms(query);
    const substitutes = completes ? index.substitutes?.(terms) : undefined;
    return {
      weights: numbered(index, termWeights(terms, statistics, rareWeight, substitutes)),
      ...lengthNorm(checkedParameters(given, defaults), statistics.averageLength),
    };
  };
  return {
    rank(query, topK, { accept, ...parameters } = {}) {
      const best = new TopK(topK);
      const scoring = scoringOf(query, parameters);
      for (const block of index.blocks) {
        if (!scoreBlock(block, scoring, scores)) continue;
        for (let place = 0; place < block.lengths.length; place++) {
          const ordinal = block.first + place;
          if (scores[place]! > 0 && (accept?.(ordinal) ?? true)) best.push(ordinal, scores[place]!);
        }
      }
      return best.take(topK);
    },
    score(query, ordinals, parameters = {}) {
      const scoring = scoringOf(query, parameters);
      return Float64Array.from(ordinals, (ordinal) => {
        const block = index.blocks.findLast(({ first }) => first <= ordinal);
        return block ? scoreOf(block, ordinal - block.first, scoring) : 0;
      });
    },
  };
}

/** The passages with all of some terms, ascending; with none of them, none. */
export function passagesWith(
  { blocks, vocabulary }: Postings,
  terms: readonly string[],
): Uint32Array {
  const numbers = [...new Set(terms)].map((term) => vocabulary.get(term));
  if (numbers.length === 0 || numbers.includes(undefined)) return new Uint32Array();
  const found = blocks.flatMap((block) => {
    const counts = new Uint16Array(block.lengths.length);
    for (const number of numbers) {
      const [start, end] = postingsOf(block, number!);
      for (const place of block.places.subarray(start, end)) counts[place]!++;
    }
    return Array.from(counts.keys())
      .filter((place) => counts[place] === numbers.length)
      .map((place) => block.first + place);
  });
  return Uint32Array.from(found);
}

/** How the length of a passage counts: `tf / (tf + constant + perTerm * |p|)`. */
interface LengthNorm {
  /** k1 * (1 - b) */
  readonly constant: number;
  /** k1 * b / avgdl */
  readonly perTerm: number;
}

const lengthNorm = ({ k1, b }: Bm25Parameters, averageLength: number): LengthNorm => ({
  constant: k1 * (1 - b),
  perTerm: (k1 * b) / averageLength,
});

interface Scoring extends LengthNorm {
  /** The weight of each term of the query, by number. */
  readonly weights: ReadonlyMap<number, number>;
}

/** Writes the scores of all passages of a block. Returns whether it has a term of the query. */
function scoreBlock(block: PostingBlock, scoring: Scoring, scores: Float64Array): boolean {
  const { places, frequencies, lengths } = block;
  const { weights, constant, perTerm } = scoring;
  scores.fill(0);
  let hasTerm = false;
  for (const [term, weight] of weights) {
    const [start, end] = postingsOf(block, term);
    hasTerm ||= end > start;
    for (let posting = start; posting < end; posting++) {
      const place = places[posting]!;
      const frequency = frequencies[posting]!;
      scores[place]! += (weight * frequency) / (frequency + constant + perTerm * lengths[place]!);
    }
  }
  return hasTerm;
}

/** The score of the passage at `place` of a block: the sum of `scoreBlock`, in its order. */
function scoreOf(
  block: PostingBlock,
  place: number,
  { weights, constant, perTerm }: Scoring,
): number {
  let score = 0;
  for (const [term, weight] of weights) {
    const posting = postingOf(block, term, place);
    if (posting === undefined) continue;
    const frequency = block.frequencies[posting]!;
    score += (weight * frequency) / (frequency + constant + perTerm * block.lengths[place]!);
  }
  return score;
}

/** The inverse document frequency of a term: ln(1 + (N - df + 0.5) / (df + 0.5)). */
function inverseDocumentFrequency(passages: number, frequency: number): number {
  return Math.log(1 + (passages - frequency + 0.5) / (frequency + 0.5));
}

/**
 * The weight of each term t of a question that the collection has: its idf times its occurrences
 * in the question, and of rare terms more:
 *
 *     weight(t) = idf(t) * (occurrences + rareWeight * |q| * share(t))
 *     share(t) = (1 / df(t)) / max(1, sum over terms u of q: 1 / df(u))
 *
 * A term is shared by df passages, so it names each of them with 1 / df. In the mean over the |q|
 * terms of the question, a term that names a passage counts as if it were asked for alone; several
 * such terms share this. Common terms name nothing. A substitute of a term occurs once, and its
 * weight is multiplied by what it counts.
 */
export function termWeights(
  terms: readonly string[],
  { size, documentFrequency }: Pick<CollectionStatistics, "size" | "documentFrequency">,
  rareWeight = 0,
  substitutes: Substitutes = new Map(),
): Map<string, number> {
  const known = new Map<string, { frequency: number; count: number }>();
  for (const term of [...terms, ...substitutes.keys()]) {
    const entry = known.get(term);
    if (entry) entry.count++;
    else known.set(term, { frequency: documentFrequency(term), count: 1 });
  }
  for (const [term, { frequency }] of known) if (frequency === 0) known.delete(term);
  const named = [...known.values()].reduce((sum, { frequency }) => sum + 1 / frequency, 0);
  const perName = (rareWeight * terms.length) / Math.max(1, named);
  const weights = Array.from(known, ([term, { frequency, count }]): [string, number] => [
    term,
    (substitutes.get(term) ?? 1) *
      inverseDocumentFrequency(size, frequency) *
      (count + perName / frequency),
  ]);
  return new Map(weights);
}

/** Weights by the numbers of the terms. */
const numbered = (
  { vocabulary }: Postings,
  weights: ReadonlyMap<string, number>,
): Map<number, number> =>
  new Map(
    Array.from(weights, ([term, weight]): [number | undefined, number] => [
      vocabulary.get(term),
      weight,
    ]).filter((entry): entry is [number, number] => entry[0] !== undefined),
  );

/** The number of passages with a term. */
export function frequencyOf({ blocks, vocabulary }: Postings, term: string): number {
  const number = vocabulary.get(term);
  if (number === undefined) return 0;
  return blocks.reduce((passages, block) => {
    const [start, end] = postingsOf(block, number);
    return passages + end - start;
  }, 0);
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
