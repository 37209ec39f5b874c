/**
 * Fits the probability that a passage answers a question to passages that search has found.
 *
 * Source: Platt 1999, "Probabilistic Outputs for Support Vector Machines and Comparisons to
 * Regularized Likelihood Methods".
 */

import { z } from "zod";
import { InputError } from "../io/errors.ts";
import { mean } from "../math/mean.ts";
import type { ScoreCalibration, ScoreCurve } from "../model/score-calibration.ts";
import { checkData } from "../options/data.ts";
import { flag, number } from "../options/option.ts";
import { fitLogistic } from "./logistic-regression.ts";

/** A passage that a search found, and whether it answers the question. */
export interface FoundPassageOutcome {
  /** The retrieval score. */
  readonly similarity: number;
  /** BM25 / terms of the question; undefined if the model ranked alone. */
  readonly words?: number | undefined;
  /** Whether the passage answers the question. */
  readonly relevant: boolean;
}

const outcomes = z.array(
  z.array(
    z.object(
      { similarity: z.number(), words: z.number().optional(), relevant: flag() },
      "{ similarity, words, relevant }",
    ),
    "a list of { similarity, words, relevant }",
  ),
  "a list of passages for each question",
);

const weight = number({ from: 0 }).optional();

/** Fewer passages of a kind say nothing about how probable that kind is. */
const MIN_OF_EACH_KIND = 10;
/** L2 penalty of a weight, for scores with variance 1: it only keeps weights finite. */
const PENALTY = 0.1;

/**
 * Fits a logistic model to the retrieval score, and with `lambda` one to the score of hybrid
 * search. Take the passages that are shown for a question, the ten best for example, and questions
 * that no passage answers too: then the probabilities are those of what a person sees.
 *
 * @param questions for each question, its passages
 * @param lambda the weight of the retrieval score in hybrid search; undefined if the model ranked
 * alone
 * @throws {InputError} with less than 10 relevant or less than 10 other passages, or if relevant
 * ones do not have higher scores.
 *
 * @example
 * ```ts
 * import { fitScoreCalibration } from "reatt/evaluation";
 *
 * // From hits of retrieve with the option explain: { ...hit.scores, relevant: ... }
 * const questions = Array.from({ length: 20 }, (_, i) => [
 *   { similarity: 0.6 + i / 100, words: 0, relevant: i > 4 },
 *   { similarity: 0.5, words: 0, relevant: i === 2 },
 * ]);
 * const { similarity } = fitScoreCalibration(questions);
 * console.log(similarity.slope > 0); // true
 * ```
 */
export function fitScoreCalibration(
  questions: readonly (readonly FoundPassageOutcome[])[],
  lambda?: number,
): ScoreCalibration {
  checkData(outcomes, questions, { where: "questions", remedy: "take the scores from hits" });
  checkData(weight, lambda, { where: "lambda", remedy: "give that of the search" });
  const found = questions.flat();
  const count = found.filter(({ relevant }) => relevant).length;
  if (Math.min(count, found.length - count) < MIN_OF_EACH_KIND)
    throw problem(
      `at least ${MIN_OF_EACH_KIND} passages that answer and ${MIN_OF_EACH_KIND} that do not`,
      `${count} and ${found.length - count}`,
    );
  const similarity = fitCurve(found, (passage) => passage.similarity);
  if (lambda === undefined) return { similarity };
  const hybrid = fitCurve(found, ({ words = 0, similarity }) => words + lambda * similarity);
  const meanSimilarity = mean(found.map((passage) => passage.similarity));
  return { similarity, hybrid: { ...hybrid, lambda, meanSimilarity } };
}

function fitCurve(
  passages: readonly FoundPassageOutcome[],
  scoreOf: (passage: FoundPassageOutcome) => number,
): ScoreCurve {
  const scores = passages.map(scoreOf);
  const centre = mean(scores);
  const deviation = Math.sqrt(mean(scores.map((score) => (score - centre) ** 2))) || 1;
  const scaled = scores.map((score) => [1, (score - centre) / deviation]);
  const labels = passages.map(({ relevant }) => relevant);
  const [constant, weight] = fitLogistic(scaled, labels, [0, PENALTY]);
  const slope = weight! / deviation;
  if (!(slope > 0)) throw problem("higher scores of passages that answer", "lower ones");
  return { intercept: constant! - slope * centre, slope };
}

const problem = (expected: string, got: string): InputError =>
  new InputError({
    where: "passages to fit scores on",
    expected,
    got,
    remedy: "give more questions, with the passages that answer them",
  });
