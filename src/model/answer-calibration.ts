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
   * from -1 to 1. It is below 0 only for an answer that had to be another one, as a quotation.
   */
  readonly margin: number;
  /** Target attention on the passages that contain the answer, from 0 to 1. */
  readonly attention: number;
  /** Natural logarithm of the number of tokens, with `</s>`. */
  readonly length: number;
  /** 1 if a passage contains the answer, otherwise 0. */
  readonly quoted: number;
  /** The highest retrieval score of the passages that were read. */
  readonly similarity?: number | undefined;
  /**
   * `similarity` minus the next retrieval score, of a passage with another text; undefined if there
   * was none.
   */
  readonly lead?: number | undefined;
  /** The share of the terms of the question that stand in no passage that was read, from 0 to 1. */
  readonly unmatched?: number | undefined;
  /**
   * The log odds that there is no answer: ln(p / (1 - p)), with the probability p that the decoder
   * gives to `</s>` as the first token. From -20 to 20.
   */
  readonly emptiness?: number | undefined;
}

export type SignalName = keyof AnswerSignals;

export const SIGNAL_NAMES = [
  "likelihood",
  "margin",
  "attention",
  "length",
  "quoted",
  "similarity",
  "lead",
  "unmatched",
  "emptiness",
] as const satisfies readonly SignalName[];

/** How a signal counts. */
export interface CalibratedSignal {
  /** The change of the log odds for one standard deviation of the signal. */
  readonly weight: number;
  /** What is added for its square: below 0, a high signal says less than a low one. */
  readonly curvature: number;
  /** Of the answers that the calibration was fitted on. */
  readonly mean: number;
  /** The standard deviation of the signal where the calibration was fitted. */
  readonly deviation: number;
}

/**
 * A logistic model. With the signals x of an answer, in standard deviations and at most 3 of them
 * from the mean:
 *
 *     z_j = min(3, max(-3, (x_j - mean_j) / deviation_j))
 *     P(right) = 1 / (1 + exp(-(intercept + sum_j weight_j * z_j + curvature_j * z_j^2)))
 *
 * The squares let a passage be similar enough: below that, the similarity decides, and above it
 * the other signals do.
 *
 * A signal that an answer does not have counts as its mean.
 */
export interface AnswerCalibration {
  /** The log-odds of an answer whose signals are all at their means. */
  readonly intercept: number;
  /** What each signal adds. */
  readonly signals: Readonly<Record<SignalName, CalibratedSignal>>;
  /** `answer` and `read` abstain below it, unless `minimumConfidence` is given. From 0 to 1. */
  readonly threshold?: number | undefined;
}

/** Signals beyond it say no more: they are outside of what the calibration was fitted on. */
const MAX_DEVIATIONS = 3;

const value = z.number("a number");

/** A number for each signal, in a file. */
export const AnswerSignalsFile = z.strictObject(
  {
    likelihood: value,
    margin: value,
    attention: value,
    length: value,
    quoted: value,
    similarity: value.optional(),
    lead: value.optional(),
    unmatched: value.optional(),
    emptiness: value.optional(),
  },
  `{ ${SIGNAL_NAMES.join(", ")} }`,
);

const term = z.strictObject(
  { weight: value, curvature: value, mean: value, deviation: number({ above: 0 }) },
  "{ weight, curvature, mean, deviation }",
);

/** `calibration` of `config.json`; of a T5, `answer_calibration`. */
export const AnswerCalibrationFile = z.strictObject(
  {
    intercept: value,
    signals: z.strictObject(
      {
        likelihood: term,
        margin: term,
        attention: term,
        length: term,
        quoted: term,
        similarity: term,
        lead: term,
        unmatched: term,
        emptiness: term,
      },
      `{ ${SIGNAL_NAMES.join(", ")} }: fit the calibration again, with reatt evaluate calibrate`,
    ),
    threshold: number({ from: 0, to: 1 }).optional(),
  },
  "{ intercept, signals }",
);

/** @throws {InputError} unless `given` is a calibration */
export function checkCalibration(calibration: unknown): void {
  const remedy = "take it from fitCalibration";
  checkData(AnswerCalibrationFile, calibration, { where: "calibration", remedy });
}

/** A signal in standard deviations from the mean, at most 3; 0 for one that is missing. */
export function standardised(
  signal: number | undefined,
  { mean, deviation }: Pick<CalibratedSignal, "mean" | "deviation">,
): number {
  if (signal === undefined) return 0;
  return Math.min(MAX_DEVIATIONS, Math.max(-MAX_DEVIATIONS, (signal - mean) / deviation));
}

/**
 * The probability that an answer with these signals is right, by {@link AnswerCalibration}.
 *
 * @throws {InputError} if a weight or a signal is missing or not a number.
 *
 * @example
 * ```ts
 * import { calibratedConfidence } from "reatt";
 * import { fitCalibration } from "reatt/evaluation";
 *
 * const signals = { likelihood: -0.5, margin: 0.3, attention: 0.4, length: 1, quoted: 1 };
 * const outcomes = Array.from({ length: 40 }, (_, i) => {
 *   return { signals: { ...signals, likelihood: -i / 20 }, correct: i < 20 };
 * });
 * console.log(calibratedConfidence(fitCalibration(outcomes), signals) > 0.5); // true
 * ```
 */
export function calibratedConfidence(
  calibration: AnswerCalibration,
  signals: AnswerSignals,
): number {
  checkCalibration(calibration);
  checkData(AnswerSignalsFile, signals, { where: "signals", remedy: "take them from a reply" });
  return logistic(
    SIGNAL_NAMES.reduce((sum, name) => {
      const counts = calibration.signals[name];
      const z = standardised(signals[name], counts);
      return sum + counts.weight * z + counts.curvature * z ** 2;
    }, calibration.intercept),
  );
}

/** 1 / (1 + exp(-x)) */
export const logistic = (x: number): number => 1 / (1 + Math.exp(-x));
