/**
 * Search of a compressed index in three steps. Each step passes fewer passages to the next, more
 * costly one:
 *
 * 1. The lists of the centroids estimate the scores of passages (candidates.ts).
 * 2. The passages with the greatest estimates are scored by the codes of all their keys
 * (code-scores.ts), in rounds of descending estimates. A round that finds few better passages is
 * the last: how well the estimates rank depends on the model and on the question.
 * 3. The best of these are decoded and scored exactly (rescore.ts).
 *
 * Source: Santhanam et al., PLAID, 2022.
 */

import type { Codebook } from "../codec/codec.ts";
import type { CompressedStore } from "../index/format/compressed-store.ts";
import { openMatMul } from "../scoring/matmul.ts";
import { type Ranking, TopK } from "../scoring/top-k.ts";
import { CandidateFinder } from "./candidates.ts";
import { CodeScorer } from "./code-scores.ts";
import type { Estimates, SearchEngine, SearchRequest } from "./engine.ts";
import { float32Error, rescore } from "./rescore.ts";

export interface CentroidSearchOptions {
  /** Centroids whose lists a question token reads. */
  readonly nprobe: number;
  /** The most passages that reach step 2, for each hit. */
  readonly candidatesPerHit: number;
}

/** The least number of hits for which candidates are chosen. */
const MIN_HITS = 20;

/** The least number of candidates for each hit, if there are as many. */
const MIN_CANDIDATES_PER_HIT = 8;

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
  const idle: Workspace[] = []; // concurrent searches need one each
  /** Chooses the passages that are scored exactly, and does `work` with the scorer of codes. */
  const withCandidates = async <Result>(
    question: Float32Array,
    search: SearchRequest,
    work: (candidates: Uint32Array, scorer: CodeScorer) => Promise<Result>,
  ): Promise<Result> => {
    const products = await matmul.multiply(question, codebook.centroids);
    const hits = Math.max(MIN_HITS, search.topK);
    const scores = { data: products, questionTokens: question.length / store.dimension };
    const most = candidatesPerHit * hits;
    const counts = { nprobe, most, least: MIN_CANDIDATES_PER_HIT * hits };
    const { finder, scorer } = idle.pop() ?? openWorkspace(store, codebook);
    const rounds = await finder.find(scores, counts, search.accept);
    scorer.setQuestion(question, products);
    const result = await work(await bestOf(store, rounds, hits, scorer), scorer);
    idle.push({ finder, scorer });
    return result;
  };
  const searchOne = (question: Float32Array, search: SearchRequest): Promise<Ranking> =>
    withCandidates(question, search, (candidates) =>
      rescore(store, matmul, question, candidates, search.topK),
    );
  return {
    async search(questions, search) {
      const found: Ranking[] = [];
      for (const question of questions) {
        search.signal?.throwIfAborted();
        found.push(await searchOne(question, search));
      }
      return found;
    },
    estimate: (question, search, others) =>
      withCandidates(question, search, async (candidates, scorer) => ({
        candidates: await estimated(store, question, candidates, scorer),
        others: await estimated(store, question, others, scorer),
      })),
    keys: store,
    [Symbol.asyncDispose]: () => matmul[Symbol.asyncDispose](),
  };
}

/** The memory of a search. */
interface Workspace {
  readonly finder: CandidateFinder;
  readonly scorer: CodeScorer;
}

const openWorkspace = (store: CompressedStore, codebook: Codebook): Workspace => ({
  finder: new CandidateFinder(store),
  scorer: new CodeScorer(codebook),
});

/** Passages whose codes are read together: some hundred kB. */
const READ_BATCH = 256;

/**
 * The best candidates by the scores of their codes: as many as step 3 needs for `hits` hits,
 * ascending by ordinal.
 */
async function bestOf(
  store: CompressedStore,
  rounds: readonly Uint32Array[],
  hits: number,
  scorer: CodeScorer,
): Promise<Uint32Array> {
  const count = Math.ceil(RESCORED_PER_HIT * hits);
  const candidates = rounds.reduce((sum, { length }) => sum + length, 0);
  if (candidates <= count) return Uint32Array.from(rounds.flatMap((round) => [...round])).sort();
  const best = new TopK(count);
  let known = new Set<number>();
  for (const round of rounds) {
    await scoreCodes(store, round, scorer, best);
    const { ordinals } = best.take(hits);
    const found = ordinals.filter((ordinal) => !known.has(ordinal));
    if (found.length <= FEW_HITS * hits) break;
    known = new Set(ordinals);
  }
  return best.take(count).ordinals.sort();
}

/** The scores of the codes of passages. */
async function estimated(
  store: CompressedStore,
  question: Float32Array,
  passages: Uint32Array,
  scorer: CodeScorer,
): Promise<Estimates> {
  const ordinals = passages.slice().sort();
  const ranges = await store.codes(ordinals, (bytes) => scorer.allocate(ordinals.length, bytes));
  // an exact score is of decoded keys, which are rounded to float32
  const error = scorer.error + 2 * float32Error(question, store);
  return { ordinals, scores: scorer.scores(ranges), error };
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
    const ranges = await store.codes(ordinals, (bytes) => scorer.allocate(ordinals.length, bytes));
    const scores = scorer.scores(ranges);
    for (let i = 0; i < scores.length; i++) best.push(ordinals[i]!, scores[i]!);
  }
}
