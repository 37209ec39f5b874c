/**
 * Search of a compressed index in three steps, each of which leaves fewer passages to the next, more costly one:
 *
 * 1. Each question token i reads the lists of its `nprobe` best centroids. A passage in the list of centroid c has a token
 *    that scores about q_i . c; the best of these stands for its maximum. A passage in none of the lists is taken to score
 *    as the last centroid that was read: about the most that it can.
 * 2. Of the passages with the greatest mean, all keys are scored by their codes (code-scores.ts).
 * 3. The best of these are decompressed and scored exactly.
 *
 * Source: Santhanam et al., PLAID, 2022 (centroid interaction); Lee et al., XTR, 2023 (missing scores by a bound).
 */

import type { Codebook } from "../codec/codec.ts";
import type { PassageStore } from "../index/format/store.ts";
import { openMatMul } from "../scoring/matmul.ts";
import { type ScoredPassage, TopK, topPositions } from "../scoring/top-k.ts";
import { CodeScorer } from "./code-scores.ts";
import type { SearchEngine, SearchRequest } from "./engine.ts";
import { rescore } from "./rescore.ts";

export interface Pruning {
  /** Centroids whose lists a question token reads. */
  readonly nprobe: number;
  /** Passages that reach step 2, for each one that is wanted. */
  readonly candidatesPerHit: number;
}

/** Where fewer passages are wanted, as many are looked at as for so many. */
const FEWEST_HITS = 20;

/** Passages that are decompressed and scored exactly, for each one that is wanted: code scores hardly differ. */
const RESCORED_PER_HIT = 1.25;

export async function openCentroidSearch(
  store: PassageStore,
  codebook: Codebook,
  { nprobe, candidatesPerHit }: Pruning,
  threads: number | undefined,
): Promise<SearchEngine> {
  const matmul = await openMatMul(store.dimension, threads);
  const idle: CodeScorer[] = []; // searches may overlap, and each has a question of its own
  const searchOne = async (
    question: Float32Array,
    search: SearchRequest,
  ): Promise<ScoredPassage[]> => {
    const centroidProducts = await matmul.multiply(question, codebook.centroids);
    const hits = Math.max(FEWEST_HITS, search.topK);
    const scores = { data: centroidProducts, questionTokens: question.length / store.dimension };
    const candidates = await findCandidates(store, scores, nprobe, candidatesPerHit * hits, search);
    const scorer = idle.pop() ?? new CodeScorer(codebook);
    scorer.ask(question, centroidProducts);
    const best = await bestOf(store, candidates, Math.ceil(RESCORED_PER_HIT * hits), scorer);
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

/** Passages whose codes are read side by side: some hundred kB. */
const READ_BATCH = 256;

/** The `count` best of some passages by the scores of their codes, ascending. */
async function bestOf(
  store: PassageStore,
  passages: Uint32Array,
  count: number,
  scorer: CodeScorer,
): Promise<Uint32Array> {
  if (passages.length <= count) return passages;
  const best = new TopK(count);
  for (let first = 0; first < passages.length; first += READ_BATCH) {
    const ordinals = passages.subarray(first, first + READ_BATCH);
    for (const [i, codes] of (await store.codes(ordinals)).entries())
      best.push(ordinals[i]!, scorer.score(codes));
  }
  const kept = best.take().slice(0, count);
  return Uint32Array.from(kept, ({ ordinal }) => ordinal).sort();
}

/** MatMul of a question with the centroids. */
interface CentroidScores {
  /** [question tokens, centroids] */
  readonly data: Float32Array;
  readonly questionTokens: number;
}

/** The `count` most promising passages that are accepted, or somewhat more, ascending; `topK` at least, where there are so many. */
async function findCandidates(
  store: PassageStore,
  scores: CentroidScores,
  nprobe: number,
  count: number,
  search: SearchRequest,
): Promise<Uint32Array> {
  const centroids = scores.data.length / scores.questionTokens;
  const { gains, metBy } = await probeLists(store, scores, nprobe);
  const met: number[] = [];
  for (let ordinal = 0; ordinal < metBy.length; ordinal++)
    if (metBy[ordinal]! > 0 && search.accept(ordinal)) met.push(ordinal);
  const least = thresholdOf(
    Float32Array.from(met, (ordinal) => gains[ordinal]!),
    count,
  );
  const candidates = Uint32Array.from(met.filter((ordinal) => gains[ordinal]! >= least));
  if (candidates.length < search.topK && nprobe < centroids)
    return findCandidates(store, scores, 4 * nprobe, count, search);
  return candidates;
}

/**
 * Reads the lists of the `nprobe` best centroids of each question token.
 *
 * `gains`, [passages], is the sum over question tokens of the product with the best centroid of
 * the passage, above that with the last centroid read. `metBy`, [passages], is the last question
 * token that met the passage, counted from 1; 0 if none did.
 */
async function probeLists(
  store: PassageStore,
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
    for (const centroid of best) {
      const gain = row[centroid]! - bound;
      const list = await store.list(centroid);
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

/** Steps between the least value and the greatest. */
const STEPS = 4096;

/** A value that `count` of some values reach, and a few more where several are much the same; the least, where there are fewer. */
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
