/**
 * Lexical and dense retrieval together. Source: Dense Passage Retrieval (Karpukhin et al. 2020), section 5: the union of the best
 * passages of both, ranked by BM25(q, p) + lambda * sim(q, p), with lambda chosen on a development set. Here sim is avg-max.
 */

import { InputError } from "../errors.ts";
import type { ScoredId } from "./bm25/bm25.ts";

/** What two retrievers found for one question. */
export interface Candidates {
  readonly lexical: readonly ScoredId[];
  readonly dense: readonly ScoredId[];
}

/**
 * Ranks the union of both lists by `lexical + lambda * dense`, best first; equal scores in the order of the lists.
 *
 * A passage that one list lacks gets the lowest score of that list, which is the most it can have there (the choice of Ma et al.
 * 2021, A Replication Study of Dense Passage Retriever). Who can score it exactly, as DPR did, appends it to the list before:
 * `missingFrom` names it, and `Bm25.score` scores it.
 */
export function interpolate({ lexical, dense }: Candidates, lambda: number): ScoredId[] {
  const lexicalScores = scoresById(lexical);
  const denseScores = scoresById(dense);
  const [lexicalFloor, denseFloor] = [lowest(lexical), lowest(dense)];
  const union = new Set([...lexicalScores.keys(), ...denseScores.keys()]);
  return Array.from(union, (id) => ({
    id,
    score: (lexicalScores.get(id) ?? lexicalFloor) + lambda * (denseScores.get(id) ?? denseFloor),
  })).sort((a, b) => b.score - a.score);
}

/** The ids of `other` that `list` lacks. */
export function missingFrom(list: readonly ScoredId[], other: readonly ScoredId[]): string[] {
  const known = new Set(list.map(({ id }) => id));
  return other.map(({ id }) => id).filter((id) => !known.has(id));
}

export interface TunedLambda {
  readonly lambda: number;
  /** Mean of the measure with it. */
  readonly value: number;
  /** Every lambda that was tried, ascending. */
  readonly tried: readonly { readonly lambda: number; readonly value: number }[];
}

/**
 * The lambda whose rankings of labelled questions have the highest mean of `measure`; where several have it, the middle one.
 *
 * Unless told otherwise it tries 0 and 21 values from 1/32 to 32, half an octave apart, in units of the lambda at which both
 * retrievers' scores spread over equal ranges: the scale of avg-max differs from model to model.
 *
 * @throws {InputError} without questions.
 */
export function tuneLambda<Q extends Candidates>(
  questions: readonly Q[],
  measure: (ranking: readonly ScoredId[], question: Q) => number,
  lambdas: readonly number[] = defaultLambdas(questions),
): TunedLambda {
  if (questions.length === 0) {
    const remedy = "name a development set with judgements";
    throw new InputError({ where: "tuning of lambda", expected: "labelled questions", got: "none", remedy });
  }
  const tried = [...lambdas]
    .sort((a, b) => a - b)
    .map((lambda) => {
      const sum = questions.reduce((total, q) => total + measure(interpolate(q, lambda), q), 0);
      return { lambda, value: sum / questions.length };
    });
  const value = Math.max(...tried.map((trial) => trial.value));
  const best = tried.filter((trial) => trial.value === value);
  return { ...best[best.length >> 1]!, tried };
}

function defaultLambdas(questions: readonly Candidates[]): number[] {
  const spread = (lists: readonly (readonly ScoredId[])[]): number =>
    lists.reduce((sum, list) => sum + (list.length > 0 ? highest(list) - lowest(list) : 0), 0);
  const lexical = spread(questions.map((question) => question.lexical));
  const dense = spread(questions.map((question) => question.dense));
  const unit = lexical > 0 && dense > 0 ? lexical / dense : 1;
  return [0, ...Array.from({ length: 21 }, (_, i) => unit * 2 ** ((i - 10) / 2))];
}

const scoresById = (list: readonly ScoredId[]): Map<string, number> =>
  new Map(list.map(({ id, score }) => [id, score]));

const highest = (list: readonly ScoredId[]): number =>
  list.reduce((most, { score }) => Math.max(most, score), -Infinity);

/** 0 for an empty list, which says nothing of any passage. */
const lowest = (list: readonly ScoredId[]): number =>
  list.length === 0 ? 0 : list.reduce((least, { score }) => Math.min(least, score), Infinity);
