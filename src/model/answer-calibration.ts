/**
 * The calibration of answers that a model can store: a logistic model of the probability that an
 * answer is right.
 *
 * Sources: Platt 1999, "Probabilistic Outputs for Support Vector Machines"; Jiang et al. 2021, "How
 * Can We Know When Language Models Know?", which adds features of the input and of the answer.
 */

import { z } from "zod";
import { checkData } from "../options/data.ts";
import { number } from "../options/option.ts";

/** What the calibrated confidence of an answer is computed from. */
export interface AnswerSignals {
  /** Mean natural logarithm of the probability of the answer's tokens: 0 or less. */
  readonly likelihood: number;
  /**
   * Least difference of probability between a token and the most probable other token at its place,
   * from -1 to 1. It is below 0 only for an answer of beam search.
   */
  readonly margin: number;
  /** Target attention on the passages that contain the answer, from 0 to 1. */
  readonly attention: number;
  /** Natural logarithm of the number of tokens, with `</s>`. */
  readonly length: number;
  /** 1 if a passage contains the answer, otherwise 0. */
  readonly quoted: number;
}

export const SIGNAL_NAMES = [
  "likelihood",
  "margin",
  "attention",
  "length",
  "quoted",
] as const satisfies readonly (keyof AnswerSignals)[];

/** A logistic model: the probability is `1 / (1 + exp(-(intercept + sum of weight x signal)))`. */
export interface AnswerCalibration {
  readonly intercept: number;
  /** A weight for each signal. */
  readonly weights: AnswerSignals;
  /** `answer` and `read` abstain below it, unless `minimumConfidence` is given. From 0 to 1. */
  readonly threshold?: number | undefined;
}

/** A number for each signal, in a file. */
export const AnswerSignalsFile = z.strictObject(
  {
    likelihood: z.number("a number"),
    margin: z.number("a number"),
    attention: z.number("a number"),
    length: z.number("a number"),
    quoted: z.number("a number"),
  },
  `{ ${SIGNAL_NAMES.join(", ")} }`,
);

/** `answer_calibration` of `config.json`. */
export const AnswerCalibrationFile = z.strictObject(
  {
    intercept: z.number("a number"),
    weights: AnswerSignalsFile,
    threshold: number({ from: 0, to: 1 }).optional(),
  },
  "{ intercept, weights }",
);

/** @throws {InputError} unless `given` is a calibration */
export function checkCalibration(given: unknown): void {
  const remedy = "take it from fitCalibration";
  checkData(AnswerCalibrationFile, given, { where: "calibration", remedy });
}

/**
 * The probability that an answer with these signals is right:
 *
 *     1 / (1 + exp(-(intercept + sum_j weight_j * signal_j)))
 *
 * @throws {InputError} if a weight or a signal is missing or not a number.
 *
 * @example
 * ```ts
 * import { calibratedConfidence } from "reatt";
 *
 * const weights = { likelihood: 1, margin: 2, attention: 1, length: -0.5, quoted: 0.5 };
 * const signals = { likelihood: -0.5, margin: 0.3, attention: 0.4, length: 1, quoted: 1 };
 * console.log(calibratedConfidence({ intercept: 0, weights }, signals).toFixed(3)); // 0.622
 * ```
 */
export function calibratedConfidence(
  calibration: AnswerCalibration,
  signals: AnswerSignals,
): number {
  checkCalibration(calibration);
  checkData(AnswerSignalsFile, signals, { where: "signals", remedy: "take them from a reply" });
  const { intercept, weights } = calibration;
  return logistic(
    SIGNAL_NAMES.reduce((sum, name) => sum + weights[name] * signals[name], intercept),
  );
}

/** 1 / (1 + exp(-x)) */
export const logistic = (x: number): number => 1 / (1 + Math.exp(-x));
