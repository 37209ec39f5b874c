/**
 * The calibration of passages that a model can store: it makes a probability of the score that a
 * search ranks by.
 *
 * Source: Platt 1999, "Probabilistic Outputs for Support Vector Machines", with a second term: of
 * two passages with the same score, the one without a better one beside it answers more often.
 */

import { z } from "zod";
import { number } from "../options/option.ts";
import { logistic } from "./signal-calibration.ts";

/**
 * The probability of a passage with the score s, where the best passage of the same search has the
 * score t:
 *
 *     P = 1 / (1 + exp(-(intercept + best * t + behind * (s - t))))
 */
export interface ScoreCurve {
  /** The log-odds at a score of 0. */
  readonly intercept: number;
  /** Weight of the score of the best passage. */
  readonly best: number;
  /** Above 0, so that the order of scores is that of probabilities. */
  readonly behind: number;
}

/** The probability that a passage answers a question, by the score of the passage. */
export interface ScoreCalibration {
  /** By the retrieval score r(q, p). */
  readonly similarity: ScoreCurve;
  /**
   * By the score of hybrid search, BM25 / terms of the question + lambda * r(q, p). With another
   * lambda than this one, the score s counts as
   *
   *     s + (this lambda - the other) * meanSimilarity
   */
  readonly hybrid?: (ScoreCurve & HybridScale) | undefined;
}

export interface HybridScale {
  /** The weight of the retrieval score that the calibration was fitted with. */
  readonly lambda: number;
  /** The mean retrieval score of the passages that the calibration was fitted on. */
  readonly meanSimilarity: number;
}

const value = z.number("a number");
const curve = { intercept: value, best: value, behind: number({ above: 0 }) };

/** `scoreCalibration` of `config.json`; of a T5, `score_calibration`. */
export const ScoreCalibrationFile = z.strictObject(
  {
    similarity: z.strictObject(curve, "{ intercept, best, behind }"),
    hybrid: z
      .strictObject(
        { ...curve, lambda: value, meanSimilarity: value },
        "{ intercept, best, behind, lambda, meanSimilarity }",
      )
      .optional(),
  },
  "{ similarity, hybrid }",
);

/** Makes a probability of a score. `best` is that of the best passage of the same search. */
export type ScoreCalibrator = (score: number, best: number) => number;

/**
 * The scores of a search as probabilities; as they are if the model stores no calibration for them.
 *
 * @param lambda of hybrid search; undefined for the model alone
 */
export function scoreCalibrator(
  calibration: ScoreCalibration | undefined,
  lambda: number | undefined,
): ScoreCalibrator {
  const { similarity, hybrid } = calibration ?? {};
  if (lambda === undefined) return similarity ? probabilities(similarity, 0) : unchanged;
  return hybrid
    ? probabilities(hybrid, (hybrid.lambda - lambda) * hybrid.meanSimilarity)
    : unchanged;
}

const probabilities =
  (curve: ScoreCurve, shift: number): ScoreCalibrator =>
  (score, best) =>
    logistic(curve.intercept + curve.best * (best + shift) + curve.behind * (score - best));

const unchanged: ScoreCalibrator = (score) => score;
