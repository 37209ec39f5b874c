/**
 * Search of a compressed index: centroids choose candidates, and only these are decompressed and scored.
 *
 * Each question token i reads the lists of its `probes` best centroids. A passage in the list of centroid c has a token
 * that scores about q_i . c; the best of these stands for its maximum. A passage in none of the lists scores for i at
 * most about m_i, the product with the best centroid that was not read, and is taken to score that. The passages with the greatest
 * mean are the candidates; they are scored by all their keys, as decompressed.
 * Source: Santhanam et al., PLAID, 2022 (centroid interaction); Lee et al., XTR, 2023 (missing scores by a bound).
 */

import { Best, type ScoredPassage } from "./best.ts";
import { rescore, type Search, type SearchEngine } from "./engine.ts";
import { openProducts } from "./products.ts";
import type { PassageStore } from "./store.ts";

export interface Pruning {
  /** Centroids whose lists a question token reads. */
  readonly probes: number;
  /** Candidates that are decompressed, for each passage that is wanted. */
  readonly candidatesPerHit: number;
  /** So many at least. */
  readonly minCandidates: number;
}

export async function openCentroidSearch(
  store: PassageStore,
  centroids: Float32Array,
  { probes, candidatesPerHit, minCandidates }: Pruning,
  threads: number | undefined,
): Promise<SearchEngine> {
  const products = await openProducts(store.dimension, threads);
  return {
    async search(questions, search) {
      const count = Math.max(minCandidates, candidatesPerHit * search.topK);
      const found: ScoredPassage[][] = [];
      for (const question of questions) {
        search.signal?.throwIfAborted();
        const data = await products.multiply(question, centroids);
        const scores = { data, questionTokens: question.length / store.dimension };
        const candidates = await findCandidates(store, scores, probes, count, search);
        found.push(await rescore(store, products, question, candidates, search.topK));
      }
      return found;
    },
    [Symbol.asyncDispose]: () => products[Symbol.asyncDispose](),
  };
}

/** Products of a question with the centroids. */
interface CentroidScores {
  /** [question tokens, centroids] */
  readonly data: Float32Array;
  readonly questionTokens: number;
}

/** The `count` most promising passages that are accepted, ascending; `topK` at least, where there are so many. */
async function findCandidates(
  store: PassageStore,
  scores: CentroidScores,
  probes: number,
  count: number,
  search: Search,
): Promise<Uint32Array> {
  const centroids = scores.data.length / scores.questionTokens;
  const gains = new Float32Array(store.ordinalCount); // above the mean of the m_i, summed
  const metBy = new Uint32Array(store.ordinalCount); // the last question token that met the passage, from 1
  const met: number[] = [];
  for (let i = 0; i < scores.questionTokens; i++) {
    const row = scores.data.subarray(i * centroids, (i + 1) * centroids);
    const best = largest(row, probes + 1);
    const bound = best.length > probes ? row[best.pop()!]! : row[best.at(-1)!]!;
    for (const centroid of best)
      await store.visitList(centroid, (ordinal) => {
        if (metBy[ordinal] === i + 1) return; // the first that is met is the best
        if (metBy[ordinal] === 0) met.push(ordinal);
        metBy[ordinal] = i + 1;
        gains[ordinal]! += row[centroid]! - bound;
      });
  }
  const accepted = met.filter(search.accept);
  if (accepted.length < search.topK && probes < centroids)
    return findCandidates(store, scores, 4 * probes, count, search);
  const chosen = new Best(count);
  for (const ordinal of accepted) chosen.push(ordinal, gains[ordinal]!);
  const ordinals = chosen.take().map(({ ordinal }) => ordinal);
  return Uint32Array.from(ordinals.slice(0, count)).sort();
}

/** The positions of the `count` largest values, largest first. */
function largest(values: Float32Array, count: number): number[] {
  const best: number[] = [];
  let floor = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value <= floor) continue;
    let at = best.length;
    while (at > 0 && values[best[at - 1]!]! < value) at--;
    best.splice(at, 0, i);
    if (best.length > count) best.pop();
    if (best.length === count) floor = values[best.at(-1)!]!;
  }
  return best;
}
