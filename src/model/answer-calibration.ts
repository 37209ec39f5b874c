/**
 * The calibration of answers that a model can store: a logistic model of the probability that an
 * answer is right.
 *
 * Sources: Platt 1999, "Probabilistic Outputs for Support Vector Machines"; Jiang et al. 2021, "How
 * Can We Know When Language Models Know?", which adds features of the input and of the answer.
 */

import { z } from "zod";
import { checkData } from "../options/data.ts";
import { calibrationFile, probabilityOf, type SignalCalibration } from "./signal-calibration.ts";

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
  /**
   * The share of the terms that the question is about which stand in no passage that was read, from
   * 0 to 1.
   */
  readonly unmatched?: number | undefined;
  /**
   * The log odds that there is no answer: ln(p / (1 - p)), with the probability p that the decoder
   * gives to `</s>` as the first token. From -20 to 20.
   */
  readonly emptiness?: number | undefined;
  /**
   * How many numbers, codes and names of the question the passage with the answer lacks, at most 2;
   * all passages that were read, if none has it.
   */
  readonly missing?: number | undefined;
  /**
   * How many of these no passage has that the search may return, at most 2; undefined without a
   * search by words.
   */
  readonly unknown?: number | undefined;
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
  "missing",
  "unknown",
] as const satisfies readonly SignalName[];

/**
 * The probability that an answer is right. The squares let a passage be similar enough: below that,
 * the similarity decides, and above it the other signals do. `answer` and `read` give no answer
 * below the threshold, unless `minimumConfidence` is given.
 */
export type AnswerCalibration = SignalCalibration<SignalName>;

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
    missing: value.optional(),
    unknown: value.optional(),
  },
  `{ ${SIGNAL_NAMES.join(", ")} }`,
);

/** `calibration` of `config.json`; of a T5, `answer_calibration`. */
export const AnswerCalibrationFile = calibrationFile(SIGNAL_NAMES);

/** @throws {InputError} unless `given` is a calibration */
export function checkCalibration(calibration: unknown): void {
  const remedy = "take it from fitCalibration";
  checkData(AnswerCalibrationFile, calibration, { where: "calibration", remedy });
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
  return probabilityOf(calibration, SIGNAL_NAMES, signals);
}
