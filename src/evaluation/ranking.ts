/**
 * Measures of rankings, computed as trec_eval does (https://github.com/usnistgov/trec_eval, version
 * 9): `ndcg_cut`, `map`, `recip_rank`, `Rprec`, `P` and `recall`. Averages are those of
 * `trec_eval -c` and of BEIR.
 */

import { z } from "zod";
import { checkData } from "../options/data.ts";
import type { ScoredId } from "../retrieval/bm25/bm25.ts";
import { averageMeasures, checkCutoffs, DEFAULT_CUTOFFS, type Measures } from "./measures.ts";

/**
 * Relevance judgements: query -> passage -> label. A label above 0 is relevant. A passage
 * without a label is not relevant.
 */
export type Qrels = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Query -> retrieved passages in any order. The scores define the ranking. */
export type RetrievalRun = ReadonlyMap<string, readonly ScoredId[]>;

const id = z.string("an id as text");

const runMap = z.map(
  id,
  z.array(
    z.object({ id, score: z.number("a number") }, "{ id, score }"),
    "a list of { id, score }",
  ),
  "a Map of query -> list of { id, score }",
);

const qrelsMap = z.map(
  id,
  z.map(id, z.number("a number"), "a Map of passage -> label"),
  "a Map of query -> Map of passage -> label",
);

/** Options of `evaluateRun`. */
export interface RunOptions {
  /**
   * Whether a passage with the id of its query counts. Default true, as in trec_eval. BEIR leaves
   * it out, for collections whose queries are passages too, such as ArguAna and Quora.
   */
  readonly ownPassages?: boolean | undefined;
}

export interface RankingEvaluation {
  /**
   * Means over all judged queries of `map`, `mrr`, `rprec`, and for each cutoff k `ndcg@k`, `p@k`,
   * `recall@k` and `mrr@k`. A query without results or without relevant passages counts 0.
   */
  readonly measures: Measures;
  /** Number of judged queries. */
  readonly queries: number;
  /** Number of judged queries without results in the run. */
  readonly unanswered: number;
  /** Number of queries of the run without judgements. They do not count. */
  readonly unjudged: number;
}

/**
 * Evaluates a run against qrels, as trec_eval does. With g_i the label of the passage at rank i (0
 * if it has none), R the number of relevant passages and [x] 1 if x is true, else 0:
 *
 *     dcg@k  = sum_{i <= k} g_i / log2(i + 1)    ndcg@k   = dcg@k / dcg@k of the ideal ranking
 *     p@k    = (1/k) sum_{i <= k} [g_i > 0]      recall@k = (1/R) sum_{i <= k} [g_i > 0]
 *     map    = (1/R) sum_i [g_i > 0] p@i         mrr      = 1 / rank of the first relevant passage
 *     rprec  = p@R
 *
 * @example
 * ```ts
 * import { evaluateRun } from "reatt/evaluation";
 *
 * const qrels = new Map([["q1", new Map([["a", 1]])]]);
 * const run = new Map([["q1", [{ id: "b", score: 2 }, { id: "a", score: 1 }]]]);
 * console.log(evaluateRun(run, qrels, [1, 2]).measures.mrr); // 0.5
 * ```
 */
export function evaluateRun(
  run: RetrievalRun,
  qrels: Qrels,
  cutoffs: readonly number[] = DEFAULT_CUTOFFS,
  { ownPassages = true }: RunOptions = {},
): RankingEvaluation {
  checkData(runMap, run, { where: "run", remedy: "take it from readRun(FILE)" });
  checkData(qrelsMap, qrels, { where: "qrels", remedy: "take them from readQrels(FILE)" });
  checkCutoffs(cutoffs);
  const each = [...qrels].map(([query, labels]) => {
    const found = run.get(query) ?? [];
    const counted = ownPassages ? found : found.filter(({ id }) => id !== query);
    return measureRanking(counted, labels, cutoffs);
  });
  const answered = [...qrels.keys()].filter((query) => run.has(query)).length;
  return {
    measures: averageMeasures(each, each.length),
    queries: qrels.size,
    unanswered: qrels.size - answered,
    unjudged: run.size - answered,
  };
}

/**
 * Measures the ranking of one query. `g_i` is the label of the passage at rank i (0 if it is
 * negative or missing), R is the number of relevant passages, retrieved or not, and [x] is 1 if x
 * is true, else 0:
 *
 *     dcg@k  = sum_{i <= k} g_i / log2(i + 1)    ndcg@k   = dcg@k / dcg@k of the ideal ranking
 *     p@k    = (1/k) sum_{i <= k} [g_i > 0]      recall@k = (1/R) sum_{i <= k} [g_i > 0]
 *     map    = (1/R) sum_i [g_i > 0] p@i         mrr      = 1 / rank of the first relevant passage
 *     rprec  = p@R
 *
 * The ideal ranking orders all labels of the query from high to low. `map` and `mrr` use the whole
 * ranking; `mrr@k` is 0 if the first relevant passage is beyond rank k. A measure with a
 * denominator of 0 is 0.
 *
 * Sources: Järvelin and Kekäläinen 2002 (nDCG); Voorhees 1999 (reciprocal rank); Buckley and
 * Voorhees 2000 (average precision, R-precision).
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
  const first = gains.findIndex((gain) => gain > 0) + 1; // 0 if there is none
  const perCutoff = cutoffs.flatMap((k) => [
    [`ndcg@${k}`, ratio(discountedGain(gains, k), discountedGain(ideal, k))],
    [`p@${k}`, found(k) / k],
    [`recall@${k}`, ratio(found(k), relevant)],
    [`mrr@${k}`, first <= k ? ratio(1, first) : 0],
  ]);
  return {
    ...Object.fromEntries(perCutoff),
    map: ratio(sumOfPrecisions(gains), relevant),
    mrr: ratio(1, first),
    rprec: ratio(found(relevant), relevant),
  };
}

/**
 * Orders as trec_eval: by float32 score, then by the bytes of the id, both descending. It ignores
 * the ranks of a run.
 */
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
