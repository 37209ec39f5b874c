/**
 * BM25 over a store, with the scores of bm25/ over the same passages: the store counts passages and
 * terms and finds candidates, and their scores are computed here from their texts.
 */

import { openAnalyser } from "../../../text/terms.ts";
import { buildBm25, type CollectionStatistics, termWeights } from "../../bm25/bm25.ts";
import { ranked } from "../../scoring/top-k.ts";
import type { WordSearch } from "../../search/word-search.ts";
import { CANDIDATES_PER_HIT, type CandidateSearch } from "./candidate-search.ts";
import type { StoreProperties } from "./properties.ts";
import type { QueryTerm, StoreStatistics } from "./store.ts";

/** Terms whose counts stay in memory. */
const MAX_TERMS = 10_000;

export async function openStoreWords(
  { store, passages, filters, candidates }: Omit<CandidateSearch, "scorer">,
  { languages }: StoreProperties,
  { passages: size, terms: length }: StoreStatistics,
): Promise<WordSearch> {
  const analyser = await openAnalyser(languages);
  const frequencies = new Map<string, number>();
  /** The statistics for the terms of a query. */
  const collectionOf = async (query: string): Promise<CollectionStatistics> => {
    const own = new Map(analyser.terms(query).map((term) => [term, frequencies.get(term)]));
    const unknown = [...own.keys()].filter((term) => own.get(term) === undefined);
    const counts = unknown.length > 0 ? await store.frequencies(unknown) : [];
    if (frequencies.size + unknown.length > MAX_TERMS) frequencies.clear();
    for (const [i, count] of counts.entries()) {
      own.set(unknown[i]!, count);
      frequencies.set(unknown[i]!, count);
    }
    const documentFrequency = (term: string): number => own.get(term) ?? 0;
    return { size, averageLength: length / Math.max(1, size), documentFrequency, analyser };
  };
  const score: WordSearch["score"] = async (query, ordinals, parameters = {}) => {
    const own = await Promise.all(Array.from(ordinals, passages.passage));
    const bm25 = await buildBm25(own, {}, await collectionOf(query));
    return bm25.score(query, [...own.keys()], parameters);
  };
  return {
    analyser,
    score,
    async rank(query, topK, { accept, ...parameters }) {
      const collection = await collectionOf(query);
      const count = Math.max(candidates, CANDIDATES_PER_HIT * topK);
      const terms = queryTerms(query, collection, parameters.rareWeight);
      const found = await store.withWords(terms, { count, ...filters.toStore(accept) });
      const all = passages.add(found);
      const ordinals = accept ? all.filter(accept) : all;
      return ranked({ ordinals, scores: await score(query, ordinals, parameters) }, topK);
    },
  };
}

/** The terms of the query that the collection has. */
function queryTerms(
  query: string,
  collection: CollectionStatistics,
  rareWeight: number | undefined,
): Map<string, QueryTerm> {
  const weights = termWeights(collection.analyser.terms(query), collection, rareWeight);
  return new Map(
    Array.from(weights, ([term, weight]) => [
      term,
      { weight, frequency: collection.documentFrequency(term) },
    ]),
  );
}
