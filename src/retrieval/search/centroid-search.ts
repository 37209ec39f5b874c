/**
 * Search of a compressed index in three steps. Each step passes fewer passages to the next, more
 * costly one:
 *
 * 1. Each question token reads the lists of its `nprobe` best centroids. A passage in the list of
 * centroid c has a token with a product of about q_i . c; the best of these centroids estimates the
 * maximum of the passage. For a passage in none of the lists, the last centroid read is the
 * estimate, which is about an upper bound.
 * 2. The passages with the greatest mean estimate are scored by the codes of all their keys
 * (code-scores.ts), in rounds of descending estimates. A round that finds few better passages is
 * the last: how well the estimates rank depends on the model and on the question.
 * 3. The best of these are decoded and scored exactly (rescore.ts).
 *
 * Sources: Santhanam et al., PLAID, 2022 (centroid interaction); Lee et al., XTR, 2023 (bounds for
 * missing scores).
 */

import type { Codebook } from "../codec/codec.ts";
import type { CompressedStore } from "../index/format/compressed-store.ts";
import { openMatMul } from "../scoring/matmul.ts";
import { type ScoredPassage, TopK, topPositions } from "../scoring/top-k.ts";
import { CodeScorer } from "./code-scores.ts";
import type { SearchEngine, SearchRequest } from "./engine.ts";
import { rescore } from "./rescore.ts";

export interface CentroidSearchOptions {
  /** Centroids whose lists a question token reads. */
  readonly nprobe: number;
  /** The most passages that reach step 2, for each hit. */
  readonly candidatesPerHit: number;
}

/** The least number of hits for which candidates are chosen. */
const MIN_HITS = 20;

/**
 * The least number of candidates for each hit. If a filter leaves fewer in the lists that were
 * read, more lists are read.
 */
const MIN_CANDIDATES_PER_HIT = 8;

/** The share of the candidates that the first round scores. Each further round doubles them. */
const FIRST_ROUND = 1 / 8;

/** A round that brings at most this share of the hits is the last. */
const FEW_HITS = 0.02;

/** Passages that reach step 3, for each hit. Few, because code scores are close to exact ones. */
const RESCORED_PER_HIT = 1.25;

export async function openCentroidSearch(
  store: CompressedStore,
  codebook: Codebook,
  { nprobe, candidatesPerHit }: CentroidSearchOptions,
): Promise<SearchEngine> {
  // The products are a small part of the work. Other threads search other questions.
  const matmul = await openMatMul(store.dimension, 1);
  const idle: CodeScorer[] = []; // concurrent searches need a scorer each
  const searchOne = async (
    question: Float32Array,
    search: SearchRequest,
  ): Promise<ScoredPassage[]> => {
    const centroidProducts = await matmul.multiply(question, codebook.centroids);
    const hits = Math.max(MIN_HITS, search.topK);
    const scores = { data: centroidProducts, questionTokens: question.length / store.dimension };
    const counts = { most: candidatesPerHit * hits, least: MIN_CANDIDATES_PER_HIT * hits };
    const candidates = await findCandidates(store, scores, nprobe, counts, search.accept);
    const scorer = idle.pop() ?? new CodeScorer(codebook);
    scorer.setQuestion(question, centroidProducts);
    const best = await bestOf(store, candidates, hits, scorer);
    idle.push(scorer);
    return rescore(store, matmul, question, best, search.topK);
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
    [Symbol.asyncDispose]: () => matmul[Symbol.asyncDispose](),
  };
}

/** Passages whose codes are read together: some hundred kB. */
const READ_BATCH = 256;

/**
 * The best of `candidates`, best estimates first, by the scores of their codes: as many as step 3
 * needs for `hits` hits, ascending by ordinal.
 */
async function bestOf(
  store: CompressedStore,
  candidates: Uint32Array,
  hits: number,
  scorer: CodeScorer,
): Promise<Uint32Array> {
  const count = Math.ceil(RESCORED_PER_HIT * hits);
  if (candidates.length <= count) return candidates.sort();
  const best = new TopK(count);
  for (let share = FIRST_ROUND, scored = 0; share <= 1; share *= 2) {
    const round = candidates.slice(scored, Math.ceil(share * candidates.length)).sort();
    await scoreCodes(store, round, scorer, best);
    const ofRound = new Set(round);
    const found = best
      .take()
      .slice(0, hits)
      .filter(({ ordinal }) => ofRound.has(ordinal));
    if (found.length <= FEW_HITS * hits) break;
    scored += round.length;
  }
  const kept = best.take().slice(0, count);
  return Uint32Array.from(kept, ({ ordinal }) => ordinal).sort();
}

/** Pushes the scores of the codes of `passages` to `best`. */
async function scoreCodes(
  store: CompressedStore,
  passages: Uint32Array,
  scorer: CodeScorer,
  best: TopK,
): Promise<void> {
  for (let first = 0; first < passages.length; first += READ_BATCH) {
    const ordinals = passages.subarray(first, first + READ_BATCH);
    await store.codes(ordinals, (lengths) => scorer.allocate(lengths));
    for (const [i, score] of scorer.scores().entries()) best.push(ordinals[i]!, score);
  }
}

/** The products of a question with the centroids. */
interface CentroidScores {
  /** [question tokens, centroids] */
  readonly data: Float32Array;
  readonly questionTokens: number;
}

/**
 * The `most` most promising accepted passages or a few more, best first. At least `least`, if there
 * are as many.
 */
async function findCandidates(
  store: CompressedStore,
  scores: CentroidScores,
  nprobe: number,
  counts: { readonly most: number; readonly least: number },
  accept: SearchRequest["accept"],
): Promise<Uint32Array> {
  const centroids = scores.data.length / scores.questionTokens;
  const { gains, metBy } = await probeLists(store, scores, nprobe);
  const met = new Uint32Array(metBy.length);
  const estimates = new Float32Array(metBy.length);
  let count = 0;
  for (let ordinal = 0; ordinal < metBy.length; ordinal++)
    if (metBy[ordinal]! > 0 && accept(ordinal)) {
      estimates[count] = gains[ordinal]!;
      met[count++] = ordinal;
    }
  const least = thresholdOf(estimates.subarray(0, count), counts.most);
  const candidates = met.subarray(0, count).filter((ordinal) => gains[ordinal]! >= least);
  if (candidates.length < counts.least && nprobe < centroids)
    return findCandidates(store, scores, 4 * nprobe, counts, accept);
  return candidates.sort((a, b) => gains[b]! - gains[a]!);
}

/**
 * Reads the lists of the `nprobe` best centroids of each question token.
 *
 * `gains`, [passages], is the sum over question tokens of the product with the best centroid of
 * the passage, above that with the last centroid read. `metBy`, [passages], is the last question
 * token that met the passage, counted from 1; 0 if none did.
 */
async function probeLists(
  store: CompressedStore,
  { data, questionTokens }: CentroidScores,
  nprobe: number,
): Promise<{ gains: Float32Array; metBy: Uint32Array }> {
  const centroids = data.length / questionTokens;
  const gains = new Float32Array(store.ordinalCount);
  const metBy = new Uint32Array(store.ordinalCount);
  for (let i = 0; i < questionTokens; i++) {
    const row = data.subarray(i * centroids, (i + 1) * centroids);
    const best = topPositions(row, nprobe);
    const bound = row[best.at(-1)!]!;
    for (const [rank, list] of (await store.lists(best)).entries()) {
      const gain = row[best[rank]!]! - bound;
      for (let at = 0; at < list.length; at++) {
        const ordinal = list[at]!;
        if (metBy[ordinal] === i + 1) continue; // its first list is of its best centroid
        metBy[ordinal] = i + 1;
        gains[ordinal]! += gain;
      }
    }
  }
  return { gains, metBy };
}

/** Bins of the histogram from which a threshold is read. */
const STEPS = 4096;

/**
 * A threshold that about `count` of the values reach: the lower edge of a histogram bin, so that a
 * few more can reach it. It avoids sorting; `TopK` does the exact selection. If there are at most
 * `count` values, it is the least of them.
 */
function thresholdOf(values: Float32Array, count: number): number {
  let [least, greatest] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    least = Math.min(least, values[i]!);
    greatest = Math.max(greatest, values[i]!);
  }
  if (values.length <= count || least === greatest) return least;
  const scale = (STEPS - 1) / (greatest - least);
  const members = new Uint32Array(STEPS);
  for (let i = 0; i < values.length; i++) members[Math.floor((values[i]! - least) * scale)]!++;
  let lowest = STEPS - 1;
  for (let sum = members[lowest]!; sum < count && lowest > 0; ) sum += members[--lowest]!;
  return least + lowest / scale;
}
