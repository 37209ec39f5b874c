/** The systems that `reatt benchmark` compares: BM25, the model, and both together. */

import type { Measures } from "../evaluation/measures.ts";
import { evaluateRun, measureRanking, type Qrels } from "../evaluation/ranking.ts";
import { mean } from "../math/mean.ts";
import type { HybridWeights } from "../model/config.ts";
import type { ReAtt } from "../reatt.ts";
import type { LexicalIndex } from "../retrieval/bm25/lexical-index.ts";
import {
  combineScores,
  type HybridScores,
  hybridScores,
  MIN_CANDIDATES,
  type TunedLambda,
  tuneLambda,
} from "../retrieval/hybrid.ts";
import type { SearchHit, TokenIndex } from "../retrieval/search/token-index.ts";
import { startProgress } from "./progress.ts";

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
}

export interface Retrievers {
  /** The text of each query. */
  readonly texts: ReadonlyMap<string, string>;
  readonly lexical: LexicalIndex;
  /** BM25 with the parameters that the model stores for hybrid search, if it stores any. */
  readonly stored?: LexicalIndex | undefined;
  readonly model: ReAtt;
  readonly index: TokenIndex;
  readonly topK: number;
}

/** Results of a query. */
interface Searched {
  readonly query: string;
  readonly lexical: readonly SearchHit[];
  readonly dense: readonly SearchHit[];
  /** Both scores of the passages of both lists. */
  readonly union: readonly HybridScores[];
  /** The same with `Retrievers.stored`. */
  readonly stored?: readonly HybridScores[];
  /** Time of each search, and of the scores that one of the lists lacks. */
  readonly milliseconds: Readonly<Record<"lexical" | "dense" | "union" | "stored", number>>;
}

/** Searches for every query of the qrels. As in BEIR, a query is never its own result. */
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
  { texts, lexical: lexicalIndex, stored, model, index, topK }: Retrievers,
  signal: AbortSignal,
): Promise<Searched[]> {
  const depth = Math.max(MIN_CANDIDATES, topK); // as in hybrid search
  const questions = queries.map((query) => texts.get(query)!);
  const others = (hits: readonly SearchHit[], query: string) =>
    hits.filter(({ id }) => id !== query).slice(0, depth);
  const search = { topK: depth + 1, signal };
  const searchLexical = (bm25: LexicalIndex): SearchHit[][] =>
    queries.map((query, i) => others(bm25.search(questions[i]!, { topK: search.topK }), query));
  const time = stopwatch(queries.length);
  const lexical = searchLexical(lexicalIndex);
  const lexicalTime = time();
  const vectors = await model.encodeQuestions(questions, { signal });
  const found = await index.searchBatch(vectors, search);
  const dense = queries.map((query, i) => others(found[i]!, query));
  const denseTime = time();
  const unionsWith = (bm25: LexicalIndex, lists: readonly SearchHit[][]) =>
    unionsOf(index, bm25, questions, vectors, lists, dense);
  const unions = await unionsWith(lexicalIndex, lexical);
  const unionTime = time();
  const storedUnions = stored && (await unionsWith(stored, searchLexical(stored)));
  const milliseconds = {
    ...{ lexical: lexicalTime, dense: denseTime, union: unionTime },
    stored: time(),
  };
  return queries.map((query, i) => ({
    ...{ query, lexical: lexical[i]!, dense: dense[i]!, union: unions[i]! },
    ...(storedUnions && { stored: storedUnions[i]! }),
    milliseconds,
  }));
}

/** Both scores of the passages of both lists, for each question. */
async function unionsOf(
  index: TokenIndex,
  lexicalIndex: LexicalIndex,
  texts: readonly string[],
  vectors: readonly Float32Array[],
  lexical: readonly SearchHit[][],
  dense: readonly SearchHit[][],
): Promise<HybridScores[][]> {
  const unions: HybridScores[][] = [];
  for (const [i, text] of texts.entries()) {
    const lists = { lexical: lexical[i]!, dense: dense[i]! };
    unions.push(await hybridScores(index, lexicalIndex, { text, vectors: vectors[i]! }, lists));
  }
  return unions;
}

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
): Pick<TunedLambda, "lambda" | "tried"> & { readonly [TUNED_MEASURE]: number } {
  const { lambda, value, tried } = tuneLambda(
    searched,
    (ranking, { query }) => measureRanking(ranking, qrels.get(query)!, [10])[TUNED_MEASURE]!,
  );
  return { lambda, [TUNED_MEASURE]: value, tried };
}

/**
 * @param lambda the tuned weight of the model beside BM25, if one was tuned
 * @param stored the weights that the model stores for hybrid search, if it stores any
 */
export function measureSystems(
  searched: readonly Searched[],
  qrels: Qrels,
  topK: number,
  lambda: number | undefined,
  stored: HybridWeights | undefined,
): System[] {
  const measure = (rank: (query: Searched) => readonly SearchHit[]): Measures => {
    const run = new Map(searched.map((query) => [query.query, rank(query).slice(0, topK)]));
    return evaluateRun(run, qrels).measures;
  };
  const times = (...stages: (keyof Searched["milliseconds"])[]): number =>
    stages
      .map((stage) => mean(searched.map(({ milliseconds }) => milliseconds[stage])))
      .reduce((sum, time) => sum + time, 0);
  const systems: System[] = [
    {
      name: "BM25",
      milliseconds: times("lexical"),
      measures: measure(({ lexical }) => lexical),
    },
    {
      name: "ReAtt",
      milliseconds: times("dense"),
      measures: measure(({ dense }) => dense),
    },
  ];
  if (stored)
    systems.push({
      name: "hybrid",
      ...stored,
      milliseconds: times("dense", "stored"),
      measures: measure((query) => combineScores(query.stored!, stored.lambda)),
    });
  if (lambda !== undefined)
    systems.push({
      name: `hybrid, lambda ${lambda}`,
      lambda,
      milliseconds: times("lexical", "dense", "union"),
      measures: measure(({ union }) => combineScores(union, lambda)),
    });
  return systems;
}
