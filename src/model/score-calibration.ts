/**
 * The calibration of passages that a model can store: it makes a probability of the score that a
 * search ranks by. It depends on the passage and the question alone: a passage has the same
 * probability beside other passages, with a filter, and in `rerank`.
 *
 * Source: Platt 1999, "Probabilistic Outputs for Support Vector Machines".
 */

import { z } from "zod";
import { number } from "../options/option.ts";
import { logistic } from "./signal-calibration.ts";

/** The probability of a passage with the score s: P = 1 / (1 + exp(-(intercept + slope * s))) */
export interface ScoreCurve {
  /** The log-odds at a score of 0. */
  readonly intercept: number;
  /** Above 0, so that the order of scores is that of probabilities. */
  readonly slope: number;
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
const curve = { intercept: value, slope: number({ above: 0 }) };

/** Models of before 2026-11-30 counted the difference to the best passage besides. */
const withoutDifference = (file: unknown): unknown => {
  if (typeof file !== "object" || file === null || !("best" in file)) return file;
  const { best, behind: _, ...others } = file as Record<string, unknown>;
  return { ...others, slope: best };
};

/** `scoreCalibration` of `config.json`; of a T5, `score_calibration`. */
export const ScoreCalibrationFile = z.strictObject(
  {
    similarity: z.preprocess(withoutDifference, z.strictObject(curve, "{ intercept, slope }")),
    hybrid: z
      .preprocess(
        withoutDifference,
        z.strictObject(
          { ...curve, lambda: value, meanSimilarity: value },
          "{ intercept, slope, lambda, meanSimilarity }",
        ),
      )
      .optional(),
  },
  "{ similarity, hybrid }",
);

/** Makes a probability of a score. */
export type ScoreCalibrator = (score: number) => number;

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
  ({ intercept, slope }: ScoreCurve, shift: number): ScoreCalibrator =>
  (score) =>
    logistic(intercept + slope * (score + shift));

const unchanged: ScoreCalibrator = (score) => score;
