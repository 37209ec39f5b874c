/**
 * Search of a compressed index in four steps, each of which leaves fewer passages to the next, more costly one:
 *
 * 1. Each question token i reads the lists of its `probes` best centroids. A passage in the list of centroid c has a token
 *    that scores about q_i . c; the best of these stands for its maximum. A passage in none of the lists is taken to score
 *    m_i, the product with the best centroid that was not read: about the most that it can.
 * 2. Of the passages with the greatest mean, the keys of those centroids are scored by their codes (code-scores.ts).
 * 3. Of the best of these, all keys are.
 * 4. The best of these are decompressed and scored exactly.
 *
 * Source: Santhanam et al., PLAID, 2022 (centroid interaction); Lee et al., XTR, 2023 (missing scores by a bound).
 */

import type { Codebook } from "../compression/codec.ts";
import type { PassageStore } from "../disk/store.ts";
import { Best, type ScoredPassage } from "./best.ts";
import { codeScorer, type ProbedCentroids } from "./code-scores.ts";
import { rescore, type Search, type SearchEngine } from "./engine.ts";
import { openProducts } from "./products.ts";

export interface Pruning {
  /** Centroids whose lists a question token reads. */
  readonly probes: number;
  /** Candidates of which the keys of those centroids are scored, for each passage that is wanted. */
  readonly candidatesPerHit: number;
  /** Candidates of which all keys are scored by their codes. */
  readonly scoredPerHit: number;
}

/** Where fewer passages are wanted, as many are looked at as for so many. */
const FEWEST_HITS = 20;

/** Passages that are decompressed and scored exactly, for each one that is wanted: code scores hardly differ. */
const RESCORED_PER_HIT = 1.25;

export async function openCentroidSearch(
  store: PassageStore,
  codebook: Codebook,
  { probes, candidatesPerHit, scoredPerHit }: Pruning,
  threads: number | undefined,
): Promise<SearchEngine> {
  const products = await openProducts(store.dimension, threads);
  const searchOne = async (question: Float32Array, search: Search): Promise<ScoredPassage[]> => {
    const centroidProducts = await products.multiply(question, codebook.centroids);
    const hits = Math.max(FEWEST_HITS, search.topK);
    const scores = { data: centroidProducts, questionTokens: question.length / store.dimension };
    const { candidates, probed } = await findCandidates(
      store,
      scores,
      probes,
      candidatesPerHit * hits,
      search,
    );
    const scorer = codeScorer(codebook, question, centroidProducts);
    const nearby = (codes: readonly Uint8Array[]) => scorer.scoreProbed(codes, probed);
    const scored = await bestOf(store, candidates, scoredPerHit * hits, nearby);
    const best = await bestOf(store, scored, Math.ceil(RESCORED_PER_HIT * hits), scorer.score);
    return rescore(store, products, question, best, search.topK);
  };
  return {
    async search(questions, search) {
      const found: ScoredPassage[][] = [];
      for (const question of questions) {
        search.signal?.throwIfAborted();
        found.push(await searchOne(question, search));
      }
      return found;
    },
    [Symbol.asyncDispose]: () => products[Symbol.asyncDispose](),
  };
}

/** Passages whose codes are scored together: some hundred kB. */
const SCORED_AT_ONCE = 256;

/** The `count` best of some passages by the scores of their codes, ascending. */
async function bestOf(
  store: PassageStore,
  passages: Uint32Array,
  count: number,
  score: (codes: readonly Uint8Array[]) => Float64Array,
): Promise<Uint32Array> {
  if (passages.length <= count) return passages;
  const best = new Best(count);
  for (let first = 0; first < passages.length; first += SCORED_AT_ONCE) {
    const ordinals = passages.subarray(first, first + SCORED_AT_ONCE);
    const codes = await Promise.all(Array.from(ordinals, (ordinal) => store.codes(ordinal))); // side by side
    for (const [i, value] of score(codes).entries()) best.push(ordinals[i]!, value);
  }
  const kept = best.take().slice(0, count);
  return Uint32Array.from(kept, ({ ordinal }) => ordinal).sort();
}

/** Products of a question with the centroids. */
interface CentroidScores {
  /** [question tokens, centroids] */
  readonly data: Float32Array;
  readonly questionTokens: number;
}

/** The `count` most promising passages that are accepted, or somewhat more, ascending; `topK` at least, where there are so many. */
async function findCandidates(
  store: PassageStore,
  scores: CentroidScores,
  probes: number,
  count: number,
  search: Search,
): Promise<{ candidates: Uint32Array; probed: ProbedCentroids }> {
  const { data, questionTokens } = scores;
  const centroids = data.length / questionTokens;
  const gains = new Float32Array(store.ordinalCount); // above the mean of the m_i, summed
  const metBy = new Uint32Array(store.ordinalCount); // the last question token that met the passage, from 1
  const probed = { centroids: [] as number[][], bounds: new Float32Array(questionTokens) };
  for (let i = 0; i < questionTokens; i++) {
    const row = data.subarray(i * centroids, (i + 1) * centroids);
    const best = largest(row, probes + 1);
    const bound = best.length > probes ? row[best.pop()!]! : row[best.at(-1)!]!;
    probed.centroids.push(best);
    probed.bounds[i] = bound;
    for (const centroid of best) {
      const gain = row[centroid]! - bound;
      await store.visitList(centroid, (ordinal) => {
        if (metBy[ordinal] === i + 1) return; // the first that is met is the best
        metBy[ordinal] = i + 1;
        gains[ordinal]! += gain;
      });
    }
  }
  const accepted = metBy.map((token, ordinal) => Number(token > 0 && search.accept(ordinal)));
  const candidates = mostPromising(gains, accepted, count);
  if (candidates.length < search.topK && probes < centroids)
    return findCandidates(store, scores, 4 * probes, count, search);
  return { candidates, probed };
}

/** Steps between no gain and the greatest. */
const STEPS = 4096;

/** The accepted passages with the `count` greatest gains and those within a step of the last of them, ascending. */
function mostPromising(gains: Float32Array, accepted: Uint32Array, count: number): Uint32Array {
  let greatest = 0;
  for (let ordinal = 0; ordinal < gains.length; ordinal++)
    if (accepted[ordinal] && gains[ordinal]! > greatest) greatest = gains[ordinal]!;
  const scale = greatest > 0 ? (STEPS - 1) / greatest : 0;
  const members = new Uint32Array(STEPS);
  for (let ordinal = 0; ordinal < gains.length; ordinal++)
    if (accepted[ordinal]) members[Math.floor(gains[ordinal]! * scale)]!++;
  let lowest = STEPS - 1;
  for (let sum = members[lowest]!; sum < count && lowest > 0; ) sum += members[--lowest]!;
  const chosen: number[] = [];
  for (let ordinal = 0; ordinal < gains.length; ordinal++)
    if (accepted[ordinal] && Math.floor(gains[ordinal]! * scale) >= lowest) chosen.push(ordinal);
  return Uint32Array.from(chosen);
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
