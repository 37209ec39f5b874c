/**
 * Lexical and dense retrieval together. Source: Dense Passage Retrieval (Karpukhin et al. 2020), section 5: the union of the best
 * passages of both, ranked by BM25(q, p) + lambda * sim(q, p), with lambda chosen on a development set. Here sim is avg-max.
 */

import { InputError } from "../io/errors.ts";
import { cachedLexicalIndex, type LexicalIndex } from "./bm25/lexical-index.ts";
import { byScore } from "./scoring/top-k.ts";
import type { SearchHit, SearchOptions, TokenIndex } from "./search/token-index.ts";

/** Passages that either side finds at least; DPR has 2,000, of 21 million. */
export const MIN_CANDIDATES = 100;

/** A question for both. */
export interface Question {
  readonly text: string;
  /** [tokens, dimension] */
  readonly vectors: Float32Array;
}

/**
 * Ranks by `BM25 + lambda * retrieval score`. Without `lexical`, the BM25 index of the open token
 * index is built on first use and cached for it.
 */
export interface HybridOptions {
  /** The weight of the model's retrieval score: 0 or more. `tuneLambda` finds it; DPR uses 1.1. */
  readonly lambda: number;
  /** Saturation of term frequency in BM25. Default 0.9. Not used with `lexical`. */
  readonly k1?: number | undefined;
  /** Length normalisation in BM25, from 0 to 1. Default 0.4. Not used with `lexical`. */
  readonly b?: number | undefined;
  /** A BM25 index of the same generation of the index, from `openLexicalIndex`. */
  readonly lexical?: LexicalIndex | undefined;
}

/** A passage and what both say of it. */
export interface HybridScores {
  readonly id: string;
  readonly ordinal: number;
  readonly lexical: number;
  readonly dense: number;
}

/** For each question the `topK` best of the union of the 100 best passages of both, or of the `topK` best if that is more. */
export async function hybridSearch(
  index: TokenIndex,
  { lambda, lexical: given, k1, b }: HybridOptions,
  questions: readonly Question[],
  options: SearchOptions,
): Promise<SearchHit[][]> {
  checkLambda(lambda);
  const lexicalIndex = given ?? (await cachedLexicalIndex(index, { k1, b }, options.signal));
  const search = { ...options, topK: Math.max(MIN_CANDIDATES, options.topK) };
  const dense = await index.searchBatch(
    questions.map(({ vectors }) => vectors),
    search,
  );
  return Promise.all(
    questions.map(async (question, i) => {
      const lists = { lexical: lexicalIndex.search(question.text, search), dense: dense[i]! };
      const union = await hybridScores(index, lexicalIndex, question, lists);
      return combineScores(union, lambda).slice(0, options.topK);
    }),
  );
}

/** The union of what two searches found for a question. Either score of each passage is exact, whichever search found it. */
export async function hybridScores(
  index: Pick<TokenIndex, "score">,
  lexicalIndex: LexicalIndex,
  { text, vectors }: Question,
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
  return [...lexical, ...onlyDense].map(({ id, ordinal }) => ({
    id,
    ordinal,
    lexical: known.lexical.get(ordinal)!,
    dense: known.dense.get(ordinal)!,
  }));
}

const scores = (hits: readonly SearchHit[]): Map<number, number> =>
  new Map(hits.map(({ ordinal, score }) => [ordinal, score]));

/** Ranks passages by `lexical + lambda * dense`, best first; equal scores in the order of the index. */
export const combineScores = (union: readonly HybridScores[], lambda: number): SearchHit[] =>
  union
    .map(({ id, ordinal, lexical, dense }) => ({ id, ordinal, score: lexical + lambda * dense }))
    .sort(byScore);

export interface TunedLambda {
  readonly lambda: number;
  /** Mean of the measure with it. */
  readonly value: number;
  /** Every lambda that was tried, ascending. */
  readonly tried: readonly { readonly lambda: number; readonly value: number }[];
}

/** A question with its candidates: what `hybridScores` gives. */
interface Candidates {
  readonly union: readonly HybridScores[];
}

/**
 * The lambda whose rankings of labelled questions have the highest mean of `measure`; where several have it, the middle one.
 *
 * Unless told otherwise it tries 0 and 21 values from 1/32 to 32, half an octave apart, in units of the lambda at which both
 * scores spread over equal ranges: the scale of avg-max differs from model to model. They are rounded to three digits.
 *
 * @throws {InputError} without questions.
 */
export function tuneLambda<Q extends Candidates>(
  questions: readonly Q[],
  measure: (ranking: readonly SearchHit[], question: Q) => number,
  lambdas: readonly number[] = defaultLambdas(questions),
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
  const tried = [...lambdas]
    .sort((a, b) => a - b)
    .map((lambda) => {
      const sum = questions.reduce(
        (total, q) => total + measure(combineScores(q.union, lambda), q),
        0,
      );
      return { lambda, value: sum / questions.length };
    });
  const value = Math.max(...tried.map((trial) => trial.value));
  const best = tried.filter((trial) => trial.value === value);
  return { ...best[best.length >> 1]!, tried };
}

function defaultLambdas(questions: readonly Candidates[]): number[] {
  const spread = (score: (passage: HybridScores) => number): number =>
    questions.reduce((sum, { union }) => sum + range(union.map(score)), 0);
  const lexical = spread((passage) => passage.lexical);
  const dense = spread((passage) => passage.dense);
  const unit = lexical > 0 && dense > 0 ? lexical / dense : 1;
  return [
    0,
    ...Array.from({ length: 21 }, (_, i) => Number((unit * 2 ** ((i - 10) / 2)).toPrecision(3))),
  ];
}

const range = (values: readonly number[]): number =>
  values.length === 0 ? 0 : Math.max(...values) - Math.min(...values);

function checkLambda(lambda: number): void {
  if (lambda >= 0 && lambda < Infinity) return;
  throw new InputError({
    where: "lambda",
    expected: "a number from 0 on",
    got: String(lambda),
    remedy: "tune it on a development set",
  });
}
