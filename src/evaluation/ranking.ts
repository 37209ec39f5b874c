/**
 * Measures of rankings, by the rules of trec_eval (https://github.com/usnistgov/trec_eval, version 9): `ndcg_cut`, `map`,
 * `recip_rank`, `P` and `recall`. Averages are those of `trec_eval -c`, which are also BEIR's.
 */

import type { ScoredId } from "../retrieval/bm25/bm25.ts";
import { DEFAULT_CUTOFFS, type Measures, mean } from "./measures.ts";

/** Query -> passage -> how relevant it is. 1 and more is relevant; what is not there is not relevant. */
export type Qrels = ReadonlyMap<string, ReadonlyMap<string, number>>;
/** Query -> what was retrieved for it, in any order: scores decide. */
export type Run = ReadonlyMap<string, readonly ScoredId[]>;

export interface RankingEvaluation {
  /**
   * Means over all judged queries of `map`, `mrr`, and for each cutoff k `ndcg@k`, `p@k` and `recall@k`. A query without results
   * counts 0, and so does one without relevant passages.
   */
  readonly measures: Measures;
  /** Judged queries. */
  readonly queries: number;
  /** Judged queries that the run has no results for. */
  readonly unanswered: number;
  /** Queries of the run that nobody judged; they do not count. */
  readonly unjudged: number;
}

/** Evaluates a run against qrels. */
export function evaluateRun(
  run: Run,
  qrels: Qrels,
  cutoffs: readonly number[] = DEFAULT_CUTOFFS,
): RankingEvaluation {
  const each = [...qrels].map(([query, labels]) =>
    measureRanking(run.get(query) ?? [], labels, cutoffs),
  );
  const answered = [...qrels.keys()].filter((query) => run.has(query)).length;
  return {
    measures: mean(each, each.length),
    queries: qrels.size,
    unanswered: qrels.size - answered,
    unjudged: run.size - answered,
  };
}

/**
 * Measures one ranking. With g_i the label of the passage at rank i (0 if it has none, or a negative one), R the number of
 * relevant passages, retrieved or not, and [.] 1 if true and 0 if not:
 *
 *     dcg@k    = sum_{i <= k} g_i / log2(i + 1)        ndcg@k   = dcg@k / dcg@k of the labels in their best order
 *     p@k      = (1/k) sum_{i <= k} [g_i >= 1]          recall@k = (1/R) sum_{i <= k} [g_i >= 1]
 *     map      = (1/R) sum_i [g_i >= 1] p@i             mrr      = 1 / rank of the first relevant passage
 *
 * `map` and `mrr` look at the whole ranking. What would be divided by 0 is 0.
 */
export function measureRanking(
  results: readonly ScoredId[],
  labels: ReadonlyMap<string, number>,
  cutoffs: readonly number[] = DEFAULT_CUTOFFS,
): Measures {
  const gains = [...results].sort(byRank).map(({ id }) => Math.max(0, labels.get(id) ?? 0));
  const ideal = [...labels.values()].filter((label) => label > 0).sort((a, b) => b - a);
  const relevant = ideal.length;
  const found = (k: number): number => gains.slice(0, k).filter((gain) => gain > 0).length;
  const perCutoff = cutoffs.flatMap((k) => [
    [`ndcg@${k}`, ratio(discountedGain(gains, k), discountedGain(ideal, k))],
    [`p@${k}`, found(k) / k],
    [`recall@${k}`, ratio(found(k), relevant)],
  ]);
  return {
    ...Object.fromEntries(perCutoff),
    map: ratio(sumOfPrecisions(gains), relevant),
    mrr: ratio(1, gains.findIndex((gain) => gain > 0) + 1),
  };
}

/** Score descending as float32, then id descending by bytes: trec_eval keeps no more of a run, and never looks at its ranks. */
function byRank(a: ScoredId, b: ScoredId): number {
  return (
    Math.fround(b.score) - Math.fround(a.score) ||
    Buffer.compare(Buffer.from(b.id), Buffer.from(a.id))
  );
}

function discountedGain(gains: readonly number[], k: number): number {
  return gains.slice(0, k).reduce((sum, gain, i) => sum + gain / Math.log2(i + 2), 0);
}

function sumOfPrecisions(gains: readonly number[]): number {
  let found = 0;
  let sum = 0;
  gains.forEach((gain, i) => {
    if (gain > 0) sum += ++found / (i + 1);
  });
  return sum;
}

const ratio = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
