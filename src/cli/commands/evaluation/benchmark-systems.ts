/** The systems that `reatt benchmark` compares: BM25, the model, and both together. */

import type { Measures } from "../../../evaluation/measures.ts";
import {
  evaluateRun,
  measureRanking,
  type Qrels,
  type RetrievalRun,
} from "../../../evaluation/ranking.ts";
import { type Interval, meanInterval } from "../../../evaluation/significance.ts";
import { type TunedLambda, tuneLambda } from "../../../evaluation/tune-lambda.ts";
import { mean } from "../../../math/mean.ts";
import type { HybridWeights } from "../../../model/config.ts";
import type { ReAtt } from "../../../reatt.ts";
import type {
  Bm25,
  GivenParameters,
  ScoredId,
  ScoreParameters,
} from "../../../retrieval/bm25/bm25.ts";
import {
  combineScores,
  type HybridScores,
  hybridParameters,
  hybridScores,
  MIN_CANDIDATES,
} from "../../../retrieval/hybrid.ts";
import type { Ranking } from "../../../retrieval/scoring/top-k.ts";
import type { TokenIndex } from "../../../retrieval/search/token-index.ts";
import { startProgress } from "../../output/progress.ts";

/** Queries of a batch share a pass over the index. */
const QUERIES_PER_BATCH = 64;
/** The main measure of BEIR: lambda is chosen by it. */
export const TUNED_MEASURE = "ndcg@10";

export interface System {
  readonly name: string;
  /** The weight of the model beside BM25. */
  readonly lambda?: number;
  /** The parameters of BM25, if the model stores them. */
  readonly k1?: number;
  readonly b?: number;
  /** Mean time of a search. */
  readonly milliseconds: number;
  readonly measures: Measures;
  /** The 95 % interval of `TUNED_MEASURE`. */
  readonly interval: Interval;
}

/** A system with what it found. */
export interface RankedSystem extends System {
  /** `TUNED_MEASURE` of each query of the qrels. */
  readonly values: readonly number[];
  readonly run: RetrievalRun;
}

export interface Retrievers {
  /** The text of each query. */
  readonly texts: ReadonlyMap<string, string>;
  /** Over the passages of the index, by the same ordinals. */
  readonly bm25: Bm25;
  /** The weights that the model stores for hybrid search, if it stores any. */
  readonly stored?: HybridWeights | undefined;
  readonly model: ReAtt;
  readonly index: TokenIndex;
  readonly topK: number;
  /** Whether a passage with the id of its query is a result. */
  readonly ownPassages: boolean;
}

/** Results of a query. */
interface Searched {
  readonly query: string;
  readonly lexical: Ranking;
  readonly dense: Ranking;
  /** Both scores of the passages of both lists. */
  readonly union: HybridScores;
  /** The same with the parameters of `Retrievers.stored`. */
  readonly stored?: HybridScores | undefined;
  /** Time of each search, and of the scores that one of the lists lacks. */
  readonly milliseconds: Readonly<Record<"lexical" | "dense" | "union" | "stored", number>>;
}

/** Searches for every query of the qrels. */
export async function searchAll(
  qrels: Qrels,
  retrievers: Retrievers,
  signal: AbortSignal,
): Promise<Searched[]> {
  const queries = [...qrels.keys()];
  const searched: Searched[] = [];
  const progress = startProgress("queries", queries.length);
  try {
    for (let first = 0; first < queries.length; first += QUERIES_PER_BATCH) {
      const batch = queries.slice(first, first + QUERIES_PER_BATCH);
      searched.push(...(await searchBatch(batch, retrievers, signal)));
      progress.update(searched.length);
    }
  } finally {
    progress.stop();
  }
  return searched;
}

async function searchBatch(
  queries: readonly string[],
  { texts, bm25, stored, model, index, topK, ownPassages }: Retrievers,
  signal: AbortSignal,
): Promise<Searched[]> {
  const depth = Math.max(MIN_CANDIDATES, topK); // as in hybrid search
  const questions = queries.map((query) => texts.get(query)!);
  const withoutQuery = ({ ordinals, scores }: Ranking, query: string): Ranking => {
    const isOther = (_: number, place: number) =>
      ownPassages || bm25.ids[ordinals[place]!] !== query;
    return {
      ordinals: ordinals.filter(isOther).subarray(0, depth),
      scores: scores.filter(isOther).subarray(0, depth),
    };
  };
  const rankByBm25 = (parameters?: ScoreParameters): Ranking[] =>
    queries.map((query, i) => withoutQuery(bm25.rank(questions[i]!, depth + 1, parameters), query));
  const time = stopwatch(queries.length);
  const lexical = rankByBm25();
  const lexicalTime = time();
  const vectors = await model.encodeQuestions(questions, { signal });
  const found = await index.rankings(vectors, { topK: depth + 1, signal });
  const dense = queries.map((query, i) => withoutQuery(found[i]!, query));
  const denseTime = time();
  const unionsWith = async (parameters?: GivenParameters) => {
    const lists = rankByBm25(hybridParameters(parameters));
    const unions: HybridScores[] = [];
    for (const [i, text] of questions.entries()) {
      const question = { text, vectors: vectors[i]! };
      const both = { lexical: lists[i]!, dense: dense[i]! };
      unions.push(await hybridScores(index, bm25, question, both, parameters));
    }
    return unions;
  };
  const unions = await unionsWith();
  const unionTime = time();
  const parameters = stored && { k1: stored.k1, b: stored.b };
  const storedUnions = parameters && (await unionsWith(parameters));
  const milliseconds = {
    lexical: lexicalTime,
    dense: denseTime,
    union: unionTime,
    stored: time(),
  };
  return queries.map((query, i) => ({
    query,
    lexical: lexical[i]!,
    dense: dense[i]!,
    union: unions[i]!,
    stored: storedUnions?.[i],
    milliseconds,
  }));
}

/** A ranking as the measures take it. */
const withIds = ({ ordinals, scores }: Ranking, { ids }: Pick<Bm25, "ids">): ScoredId[] =>
  Array.from(ordinals, (ordinal, i) => ({ id: ids[ordinal]!, score: scores[i]! }));

/** Returns the milliseconds since the last call, divided by `count`. */
function stopwatch(count: number): () => number {
  let last = performance.now();
  return () => {
    const now = performance.now();
    const milliseconds = (now - last) / count;
    last = now;
    return milliseconds;
  };
}

/** Chooses lambda by `TUNED_MEASURE`. */
export function tuneOn(
  searched: readonly Searched[],
  qrels: Qrels,
  bm25: Pick<Bm25, "ids">,
): Pick<TunedLambda, "lambda" | "tried"> & { readonly [TUNED_MEASURE]: number } {
  const { lambda, value, tried } = tuneLambda(
    searched,
    (ranking, { query }) =>
      measureRanking(withIds(ranking, bm25), qrels.get(query)!, [10])[TUNED_MEASURE]!,
  );
  return { lambda, [TUNED_MEASURE]: value, tried };
}

/**
 * @param lambda the tuned weight of the model beside BM25, if one was tuned
 */
export function measureSystems(
  searched: readonly Searched[],
  qrels: Qrels,
  { bm25, topK, stored }: Pick<Retrievers, "bm25" | "topK" | "stored">,
  lambda: number | undefined,
): RankedSystem[] {
  const measure = (rank: (query: Searched) => Ranking) => {
    const best = (query: Searched) => withIds(rank(query), bm25).slice(0, topK);
    const run = new Map(searched.map((query) => [query.query, best(query)]));
    const values = [...qrels].map(
      ([query, labels]) => measureRanking(run.get(query) ?? [], labels, [10])[TUNED_MEASURE]!,
    );
    return {
      measures: evaluateRun(run, qrels).measures,
      interval: meanInterval(values),
      values,
      run,
    };
  };
  const times = (...stages: (keyof Searched["milliseconds"])[]): number =>
    stages
      .map((stage) => mean(searched.map(({ milliseconds }) => milliseconds[stage])))
      .reduce((sum, time) => sum + time, 0);
  const systems: RankedSystem[] = [
    {
      name: "BM25",
      milliseconds: times("lexical"),
      ...measure(({ lexical }) => lexical),
    },
    {
      name: "ReAtt",
      milliseconds: times("dense"),
      ...measure(({ dense }) => dense),
    },
  ];
  if (stored)
    systems.push({
      name: "hybrid",
      ...stored,
      milliseconds: times("dense", "stored"),
      ...measure((query) => combineScores(query.stored!, stored.lambda)),
    });
  if (lambda !== undefined)
    systems.push({
      name: `hybrid, lambda ${lambda}`,
      lambda,
      milliseconds: times("lexical", "dense", "union"),
      ...measure(({ union }) => combineScores(union, lambda)),
    });
  return systems;
}
