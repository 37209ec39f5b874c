/**
 * Hybrid search: lexical and dense retrieval together. The union of the best passages of both is
 * ranked by
 *
 *     BM25(q, p) / |q| + lambda * f(p, q)
 *
 * where |q| is the number of index terms of the question (bm25/analysis.ts), and f the retrieval
 * score (search/rescore.ts). A development set chooses lambda.
 *
 * Source: Karpukhin et al. 2020, Dense Passage Retrieval, section 5, without |q|. Both scores are
 * means here, so one lambda serves short and long questions (docs/experiments/index-quality.md).
 */

import { InputError } from "../io/errors.ts";
import { mean } from "../math/mean.ts";
import type { HybridWeights } from "../model/config.ts";
import type { HYBRID_OPTIONS } from "../options/library-options.ts";
import type { Given } from "../options/option.ts";
import { analyse } from "./bm25/analysis.ts";
import { cachedLexicalIndex, type LexicalIndex, withParameters } from "./bm25/lexical-index.ts";
import { byScore } from "./scoring/top-k.ts";
import type { IndexGeneration, SearchHit, SearchOptions } from "./search/token-index.ts";

/** The least number of passages that each search contributes. DPR uses 2,000 of 21 million. */
export const MIN_CANDIDATES = 100;

/** A question in both forms. */
export interface EncodedQuestion {
  readonly text: string;
  /** [tokens, dimension] */
  readonly vectors: Float32Array;
}

/**
 * Ranks by `BM25 / terms of the question + lambda * retrieval score`. Without `lexical`, the BM25
 * index of the open token index is built on first use and cached for it. Default of `k1` and `b`:
 * those of `lexical`.
 */
export interface HybridOptions extends Given<typeof HYBRID_OPTIONS> {
  /** A BM25 index of the same generation of the index, from `openLexicalIndex`. */
  readonly lexical?: LexicalIndex | undefined;
}

/**
 * The hybrid search that a caller asks for. `true` means the weights that the model stores, an
 * object gives weights, `false` means the retrieval score alone.
 *
 * @param stored the weights in the configuration of the model
 * @param folder the folder of the model, for the message
 * @throws {InputError} for `true` if the model stores no weights
 */
export function chooseHybrid(
  given: boolean | HybridOptions,
  stored: HybridWeights | undefined,
  folder: string,
): HybridOptions | undefined {
  if (typeof given === "object") return given;
  if (!given) return undefined;
  if (stored) return stored;
  throw new InputError({
    where: `${folder}: hybrid search`,
    expected: "weights in config.json (retrieval_hybrid)",
    got: "none",
    remedy: "reatt adapt stores them; or give the lambda that reatt benchmark --tune finds",
  });
}

/** A passage with its lexical and its dense score. */
export interface HybridScores {
  readonly id: string;
  readonly ordinal: number;
  /** The BM25 score divided by the terms of the question. */
  readonly lexical: number;
  readonly dense: number;
}

/**
 * Returns for each question the `topK` best passages of the union of both searches. Each search
 * contributes its 100 best passages, or its `topK` best if that is more.
 */
export async function hybridSearch(
  index: IndexGeneration,
  { lambda, lexical: given, k1, b }: HybridOptions,
  questions: readonly EncodedQuestion[],
  options: SearchOptions,
): Promise<SearchHit[][]> {
  const opened = given ?? (await cachedLexicalIndex(index, options.signal));
  const lexicalIndex = withParameters(opened, { k1, b });
  const search = { ...options, topK: Math.max(MIN_CANDIDATES, options.topK) };
  const dense = await index.searchBatch(
    questions.map(({ vectors }) => vectors),
    search,
  );
  const found: SearchHit[][] = [];
  // One after the other: the keys of the passages of one question take some MB.
  for (const [i, question] of questions.entries()) {
    const lists = {
      lexical: lexicalIndex.search(question.text, { topK: search.topK, filter: search.filter }),
      dense: dense[i]!,
    };
    const union = await hybridScores(index, lexicalIndex, question, lists);
    found.push(combineScores(union, lambda).slice(0, options.topK));
    options.signal?.throwIfAborted();
  }
  return found;
}

/**
 * Joins the hits of two searches for a question. Both scores of each passage are exact: the score
 * that a search did not return is computed.
 */
export async function hybridScores(
  index: Pick<IndexGeneration, "score">,
  lexicalIndex: LexicalIndex,
  { text, vectors }: EncodedQuestion,
  {
    lexical,
    dense,
  }: { readonly lexical: readonly SearchHit[]; readonly dense: readonly SearchHit[] },
): Promise<HybridScores[]> {
  const known = { lexical: scores(lexical), dense: scores(dense) };
  const onlyLexical = lexical.filter(({ ordinal }) => !known.dense.has(ordinal));
  const onlyDense = dense.filter(({ ordinal }) => !known.lexical.has(ordinal));
  const denseScores = await index.score(
    vectors,
    onlyLexical.map(({ ordinal }) => ordinal),
  );
  const lexicalScores = lexicalIndex.score(
    text,
    onlyDense.map(({ id }) => id),
  );
  for (const [i, { ordinal }] of onlyLexical.entries()) known.dense.set(ordinal, denseScores[i]!);
  for (const [i, { ordinal }] of onlyDense.entries()) known.lexical.set(ordinal, lexicalScores[i]!);
  const terms = Math.max(1, analyse(text).length);
  return [...lexical, ...onlyDense].map(({ id, ordinal }) => ({
    id,
    ordinal,
    lexical: known.lexical.get(ordinal)! / terms,
    dense: known.dense.get(ordinal)!,
  }));
}

const scores = (hits: readonly SearchHit[]): Map<number, number> =>
  new Map(hits.map(({ ordinal, score }) => [ordinal, score]));

/**
 * Ranks passages by `lexical + lambda * dense`, best first; equal scores in the order of the
 * index.
 */
export const combineScores = (union: readonly HybridScores[], lambda: number): SearchHit[] =>
  union
    .map(({ id, ordinal, lexical, dense }) => ({ id, ordinal, score: lexical + lambda * dense }))
    .sort(byScore);

export interface TunedLambda {
  readonly lambda: number;
  /** The mean of the measure with this lambda. */
  readonly value: number;
  /** All values tried, ascending. */
  readonly tried: readonly { readonly lambda: number; readonly value: number }[];
}

/** A question with the passages to rank, from `hybridScores`. */
interface QuestionUnion {
  readonly union: readonly HybridScores[];
}

/**
 * Chooses the lambda with the highest mean of `measure` over labelled questions. If several values
 * of lambda share it, it returns the middle one.
 *
 * By default it tries 0 and 21 values from 1/32 to 32, in steps of sqrt(2). The unit is the lambda
 * with which both scores spread over equal ranges, because the scale of the retrieval score differs
 * between models. The values are rounded to three digits.
 *
 * @throws {InputError} if there are no questions
 */
export function tuneLambda<Q extends QuestionUnion>(
  questions: readonly Q[],
  measure: (ranking: readonly SearchHit[], question: Q) => number,
  lambdas: readonly number[] = [0, ...gridAround(scaleMatchedLambda(questions))],
): TunedLambda {
  if (questions.length === 0) {
    const remedy = "name a development set with qrels";
    throw new InputError({
      where: "tuning of lambda",
      expected: "labelled questions",
      got: "none",
      remedy,
    });
  }
  const meanMeasure = (lambda: number) =>
    mean(questions.map((question) => measure(combineScores(question.union, lambda), question)));
  const tried = [...lambdas]
    .sort((a, b) => a - b)
    .map((lambda) => ({ lambda, value: meanMeasure(lambda) }));
  const value = Math.max(...tried.map((trial) => trial.value));
  const best = tried.filter((trial) => trial.value === value);
  return { ...best[best.length >> 1]!, tried };
}

/** Doublings by which lambda differs between collections: one standard deviation of the prior. */
const PRIOR_DOUBLINGS = 1;

/**
 * Chooses the lambda to store for a model: the mean of log(lambda) over the values from 1/32 to 32
 * times the scale-matched weight, each weighted by how well it agrees with the measurements, and
 * with the lambda `known` before them, if there is one. With d_i the difference between the best
 * value and lambda for question i, and n questions,
 *
 *     w(lambda) = exp(-z^2 / 2) exp(-log2(lambda / known)^2 / 2),  z = mean(d) / (sd(d) / sqrt(n))
 *     log(result) = sum(w(lambda) log(lambda)) / sum(w(lambda))
 *
 * With few questions many values agree, and the result is near the known value, or else near the
 * scale-matched weight. With many questions it is near the optimum. The optimum alone is mostly
 * chance: `measure` often changes little over a factor of ten. The first factor is the likelihood
 * of d = 0 under a normal distribution, the second a normal prior.
 *
 * @throws {InputError} if there are no questions
 */
export function robustLambda<Q extends QuestionUnion>(
  questions: readonly Q[],
  measure: (ranking: readonly SearchHit[], question: Q) => number,
  known?: number,
): number {
  const values = (lambda: number): number[] =>
    questions.map((question) => measure(combineScores(question.union, lambda), question));
  const best = values(tuneLambda(questions, measure).lambda);
  let [sum, total] = [0, 0];
  for (const lambda of gridAround(scaleMatchedLambda(questions))) {
    const doublings = known === undefined ? 0 : Math.log2(lambda / known) / PRIOR_DOUBLINGS;
    const agrees = agreement(values(lambda).map((value, i) => best[i]! - value));
    const weight = agrees * Math.exp(-(doublings ** 2) / 2);
    sum += weight * Math.log(lambda);
    total += weight;
  }
  // All weights are 0 if only lambda 0 agrees: the smallest value is next to it.
  const result = total > 0 ? Math.exp(sum / total) : gridAround(scaleMatchedLambda(questions))[0]!;
  return Number(result.toPrecision(3));
}

/** exp(-z^2 / 2) for the mean of differences in standard errors, from 0 to 1. */
function agreement(differences: readonly number[]): number {
  const n = differences.length;
  const average = mean(differences);
  if (average <= 0 || n === 1) return 1; // one question has no standard error
  const variance = differences.reduce((sum, d) => sum + (d - average) ** 2, 0) / (n - 1);
  return variance === 0 ? 0 : Math.exp(-(average ** 2) / ((2 * variance) / n));
}

/** The lambda with which both scores spread over equal ranges, or 1 if a score does not spread. */
function scaleMatchedLambda(questions: readonly QuestionUnion[]): number {
  const spread = (score: (passage: HybridScores) => number): number =>
    questions.reduce((sum, { union }) => sum + range(union.map(score)), 0);
  const lexical = spread((passage) => passage.lexical);
  const dense = spread((passage) => passage.dense);
  return lexical > 0 && dense > 0 ? lexical / dense : 1;
}

/** 21 values from 1/32 to 32 times `unit`, ascending, in steps of sqrt(2). */
const gridAround = (unit: number): number[] =>
  Array.from({ length: 21 }, (_, i) => Number((unit * 2 ** ((i - 10) / 2)).toPrecision(3)));

const range = (values: readonly number[]): number =>
  values.length === 0 ? 0 : Math.max(...values) - Math.min(...values);
