/**
 * Search of a compressed index in three steps. Each step passes fewer passages to the next, more
 * costly one:
 *
 * 1. The lists of the centroids estimate the scores of passages (candidates.ts).
 * 2. The passages with the greatest estimates are scored by the codes of their likely keys
 * (code-scores.ts), in rounds of descending estimates. A round that finds few better passages is
 * the last: how well the estimates rank depends on the model and on the question.
 * 3. The best of these are scored by the codes of all keys, and by the decoded keys that can be the
 * best for a question token: these scores are exact (rescore-codes.ts).
 *
 * Source: Santhanam et al., PLAID, 2022 (also for leaving out keys by their centroids).
 */

import { setImmediate } from "node:timers/promises";
import type { Codebook } from "../codec/codec.ts";
import type { CompressedStore } from "../index/format/compressed-store.ts";
import { openMatMul } from "../scoring/matmul.ts";
import { type Ranking, TopK } from "../scoring/top-k.ts";
import { CandidateFinder } from "./candidates.ts";
import { CodeScorer } from "./code-scores.ts";
import { type CandidateEngine, type SearchAlso, type SearchRequest, searchesOf } from "./engine.ts";
import { rescoreCodes } from "./rescore-codes.ts";

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
const FEW_HITS = 0.03;

/** Passages that reach step 3, for each hit. Few, because scores of step 2 are close to exact. */
const RESCORED_PER_HIT = 1.5;

export async function openCentroidSearch(
  store: CompressedStore,
  codebook: Codebook,
  { nprobe, candidatesPerHit }: CentroidSearchOptions,
): Promise<CandidateEngine> {
  // The products are a small part of the work. Other threads search other questions.
  const matmul = await openMatMul(store.dimension, 1);
  const idle: Workspace[] = []; // concurrent searches need one each
  const searchOne = async (
    question: Float32Array,
    also: Uint32Array,
    { topK, accept }: SearchRequest,
  ): Promise<Ranking> => {
    const products = await matmul.multiply(question, codebook.centroids);
    const hits = Math.max(MIN_HITS, topK);
    const scores = { data: products, questionTokens: question.length / store.dimension };
    const most = candidatesPerHit * hits;
    const counts = { nprobe, most, least: MIN_CANDIDATES_PER_HIT * hits };
    const { finder, scorer } = idle.pop() ?? openWorkspace(store, codebook);
    const rounds = await finder.find(scores, counts, accept);
    scorer.setQuestion(question, products);
    const scoreCodes = async (passages: Uint32Array): Promise<Float64Array> => {
      const allocate = (bytes: number) => scorer.allocate(passages.length, bytes);
      return scorer.likelyScores(await store.codes(passages, allocate));
    };
    const rescored = new Set([...(await bestOf(rounds, hits, scoreCodes)), ...also]);
    const ordinals = Uint32Array.from(rescored).sort();
    const found = await rescoreCodes(store, scorer, question, ordinals, topK, new Set(also));
    idle.push({ finder, scorer });
    return found;
  };
  const searchAlso: SearchAlso = async (questions, also, request) => {
    const found: Ranking[] = [];
    for (const [i, question] of questions.entries()) {
      request.signal?.throwIfAborted();
      found.push(await searchOne(question, also[i]!, request));
    }
    return found;
  };
  return {
    ...searchesOf(searchAlso),
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

/** The best candidates: as many as step 3 needs for `hits` hits. */
async function bestOf(
  rounds: readonly Uint32Array[],
  hits: number,
  scoreCodes: (passages: Uint32Array) => Promise<Float64Array>,
): Promise<Uint32Array> {
  const count = Math.ceil(RESCORED_PER_HIT * hits);
  const candidates = rounds.reduce((sum, { length }) => sum + length, 0);
  if (candidates <= count) return Uint32Array.from(rounds.flatMap((round) => [...round]));
  const best = new TopK(count);
  let known = new Set<number>();
  for (const round of rounds) {
    for (let first = 0; first < round.length; first += READ_BATCH) {
      const ordinals = round.subarray(first, first + READ_BATCH);
      for (const [i, score] of (await scoreCodes(ordinals)).entries())
        best.push(ordinals[i]!, score);
      await setImmediate(); // codes in memory are read at once, and others use the process too
    }
    const { ordinals } = best.take(hits);
    const found = ordinals.filter((ordinal) => !known.has(ordinal));
    if (found.length <= FEW_HITS * hits) break;
    known = new Set(ordinals);
  }
  return best.take(count).ordinals;
}
