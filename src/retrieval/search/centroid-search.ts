/**
 * Search of a compressed index: centroids choose candidates, codes the best of these, and only the best are decompressed.
 *
 * Each question token i reads the lists of its `probes` best centroids. A passage in the list of centroid c has a token
 * that scores about q_i . c; the best of these stands for its maximum. A passage in none of the lists scores for i at
 * most about m_i, the product with the best centroid that was not read, and is taken to score that. The passages with the greatest
 * mean are the candidates. Their codes are scored (code-scores.ts), and the best once more by all their keys, as decompressed.
 * Source: Santhanam et al., PLAID, 2022 (centroid interaction); Lee et al., XTR, 2023 (missing scores by a bound).
 */

import type { Codebook } from "../compression/codec.ts";
import type { PassageStore } from "../disk/store.ts";
import { Best, type ScoredPassage } from "./best.ts";
import { type CodeScorer, codeScorer } from "./code-scores.ts";
import { rescore, type Search, type SearchEngine } from "./engine.ts";
import { openProducts } from "./products.ts";

export interface Pruning {
  /** Centroids whose lists a question token reads. */
  readonly probes: number;
  /** Candidates whose codes are scored, for each passage that is wanted. */
  readonly candidatesPerHit: number;
  /** So many at least. */
  readonly minCandidates: number;
}

/** Passages whose codes are scored together: some hundred kB. */
const SCORED_AT_ONCE = 256;

/** Passages that are decompressed and scored exactly, for each one that is wanted: code scores hardly differ. */
const RESCORED_PER_HIT = 1.25;

export async function openCentroidSearch(
  store: PassageStore,
  codebook: Codebook,
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
        const data = await products.multiply(question, codebook.centroids);
        const scores = { data, questionTokens: question.length / store.dimension };
        const candidates = await findCandidates(store, scores, probes, count, search);
        const best = await bestByCodes(store, codeScorer(codebook, question, data), candidates, search.topK);
        found.push(await rescore(store, products, question, best, search.topK));
      }
      return found;
    },
    [Symbol.asyncDispose]: () => products[Symbol.asyncDispose](),
  };
}

/** Somewhat more than `topK` of the candidates, ascending. */
async function bestByCodes(
  store: PassageStore,
  score: CodeScorer,
  candidates: Uint32Array,
  topK: number,
): Promise<Uint32Array> {
  const count = Math.ceil(RESCORED_PER_HIT * topK);
  if (candidates.length <= count) return candidates;
  const best = new Best(count);
  for (let first = 0; first < candidates.length; first += SCORED_AT_ONCE) {
    const ordinals = candidates.subarray(first, first + SCORED_AT_ONCE);
    const codes = await Promise.all(Array.from(ordinals, (ordinal) => store.codes(ordinal))); // side by side
    for (const [i, value] of score(codes).entries()) best.push(ordinals[i]!, value);
  }
  return ordinalsOf(best, count);
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
  const { data, questionTokens } = scores;
  const centroids = data.length / questionTokens;
  const gains = new Float32Array(store.ordinalCount); // above the mean of the m_i, summed
  const metBy = new Uint32Array(store.ordinalCount); // the last question token that met the passage, from 1
  const met: number[] = [];
  for (let i = 0; i < questionTokens; i++) {
    const row = data.subarray(i * centroids, (i + 1) * centroids);
    const best = largest(row, probes + 1);
    const bound = best.length > probes ? row[best.pop()!]! : row[best.at(-1)!]!;
    for (const centroid of best) {
      const gain = row[centroid]! - bound;
      await store.visitList(centroid, (ordinal) => {
        if (metBy[ordinal] === i + 1) return; // the first that is met is the best
        if (metBy[ordinal] === 0) met.push(ordinal);
        metBy[ordinal] = i + 1;
        gains[ordinal]! += gain;
      });
    }
  }
  const accepted = met.filter(search.accept);
  if (accepted.length < search.topK && probes < centroids)
    return findCandidates(store, scores, 4 * probes, count, search);
  const chosen = new Best(count);
  for (const ordinal of accepted) chosen.push(ordinal, gains[ordinal]!);
  return ordinalsOf(chosen, count);
}

const ordinalsOf = (best: Best, count: number): Uint32Array =>
  Uint32Array.from(best.take().slice(0, count), ({ ordinal }) => ordinal).sort();

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
