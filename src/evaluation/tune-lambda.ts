/** Chooses lambda, the weight of the retrieval score beside BM25, on labelled questions. */

import { InputError } from "../io/errors.ts";
import { mean } from "../math/mean.ts";
import { standardError } from "../math/standard-error.ts";
import { combineScores, type HybridScores } from "../retrieval/hybrid.ts";
import type { Ranking } from "../retrieval/scoring/top-k.ts";

export interface TunedLambda {
  readonly lambda: number;
  /** The mean of the measure with this lambda. */
  readonly value: number;
  /** All values tried, ascending. */
  readonly tried: readonly { readonly lambda: number; readonly value: number }[];
}

/** A question with the passages to rank, from `hybridScores`. */
interface QuestionUnion {
  readonly union: HybridScores;
  /** Questions of one group depend on one another. Default: each is a group of its own. */
  readonly group?: number | undefined;
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
  measure: (ranking: Ranking, question: Q) => number,
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
 * value and lambda for question i, and se their standard error (math/standard-error.ts),
 *
 *     w(lambda) = exp(-z^2 / 2) exp(-log2(lambda / known)^2 / 2),  z = mean(d) / se(d)
 *     log(result) = sum(w(lambda) log(lambda)) / sum(w(lambda))
 *
 * With few questions many values agree, and the result is near the known value, or else near the
 * scale-matched weight. With many questions it is near the optimum. The optimum alone is mostly
 * chance: `measure` often changes little over a factor of ten. The first factor is the likelihood
 * of d = 0 under a normal distribution, the second a normal prior.
 *
 * A known value stays unless the result is better by more than one standard error: it was chosen
 * on real questions.
 *
 * @throws {InputError} if there are no questions
 */
export function robustLambda<Q extends QuestionUnion>(
  questions: readonly Q[],
  measure: (ranking: Ranking, question: Q) => number,
  known?: number,
): number {
  const values = (lambda: number): number[] =>
    questions.map((question) => measure(combineScores(question.union, lambda), question));
  const groups = questions.map(({ group }, i) => group ?? -1 - i);
  const best = values(tuneLambda(questions, measure).lambda);
  let [sum, total] = [0, 0];
  for (const lambda of gridAround(scaleMatchedLambda(questions))) {
    const doublings = known === undefined ? 0 : Math.log2(lambda / known) / PRIOR_DOUBLINGS;
    const differences = values(lambda).map((value, i) => best[i]! - value);
    const agrees = agreement(differences, groups);
    const weight = agrees * Math.exp(-(doublings ** 2) / 2);
    sum += weight * Math.log(lambda);
    total += weight;
  }
  // All weights are 0 if only lambda 0 agrees: the smallest value is next to it.
  const result = total > 0 ? Math.exp(sum / total) : gridAround(scaleMatchedLambda(questions))[0]!;
  const chosen = Number(result.toPrecision(3));
  if (known === undefined) return chosen;
  const before = values(known);
  const gains = values(chosen).map((value, i) => value - before[i]!);
  return inErrors(gains, groups) > 1 ? chosen : known;
}

/** exp(-z^2 / 2) for the mean z of differences in standard errors; 1 if it is below 0. */
const agreement = (differences: readonly number[], groups: readonly number[]): number =>
  Math.exp(-(Math.max(0, inErrors(differences, groups)) ** 2) / 2);

/** The mean of differences in standard errors. One group has none: 0. */
function inErrors(differences: readonly number[], groups: readonly number[]): number {
  const average = mean(differences);
  if (average === 0 || new Set(groups).size === 1) return 0;
  return average / standardError(differences, groups);
}

/** The lambda with which both scores spread over equal ranges, or 1 if a score does not spread. */
function scaleMatchedLambda(questions: readonly QuestionUnion[]): number {
  const spread = (scores: (union: HybridScores) => Float64Array): number =>
    questions.reduce((sum, { union }) => sum + range(scores(union)), 0);
  const lexical = spread((union) => union.lexical);
  const dense = spread((union) => union.dense);
  return lexical > 0 && dense > 0 ? lexical / dense : 1;
}

/** 21 values from 1/32 to 32 times `unit`, ascending, in steps of sqrt(2). */
const gridAround = (unit: number): number[] =>
  Array.from({ length: 21 }, (_, i) => Number((unit * 2 ** ((i - 10) / 2)).toPrecision(3)));

const range = (values: Float64Array): number =>
  values.length === 0 ? 0 : Math.max(...values) - Math.min(...values);
