/**
 * Calibration of answers: fits the probability that an answer is right, from what the model knows
 * when it gives the answer.
 *
 * Sources: Guo et al. 2017, "On Calibration of Modern Neural Networks", for Platt's logistic model;
 * Jiang et al. 2021, "How Can We Know When Language Models Know? On the Calibration of Language
 * Models for Question Answering", section 4.2, for features beyond the probability of the answer.
 */

import { z } from "zod";
import { InputError } from "../io/errors.ts";
import { mean } from "../math/mean.ts";
import { createRandom } from "../math/random.ts";
import {
  type AnswerCalibration,
  type AnswerSignals,
  AnswerSignalsFile,
  SIGNAL_NAMES,
} from "../model/answer-calibration.ts";
import {
  BLOCK_SIGNAL_NAMES,
  type BlockCalibration,
  type BlockSignals,
} from "../model/block-calibration.ts";
import {
  type CalibratedSignal,
  probabilityOf,
  type SignalCalibration,
  standardised,
} from "../model/signal-calibration.ts";
import { checkTexts } from "../options/arguments.ts";
import { checkData } from "../options/data.ts";
import { flag } from "../options/option.ts";
import type { RatedAnswer } from "./calibration-report.ts";
import { fitLogistic } from "./logistic-regression.ts";

/** An answer whose rightness is known. */
export interface AnswerOutcome {
  /** `signals` of the reply. */
  readonly signals: AnswerSignals;
  /** Whether the answer is right, by exact match; false if the documents have no answer. */
  readonly correct: boolean;
}

/** L2 penalty of each weight, for signals with variance 1: the scale of one observation. */
const PENALTY = 1;
/** Signals are of the order of 1. A smaller deviation is rounding, or a constant. */
const MIN_DEVIATION = 0.01;
/** `thresholdFor` loses at most this share of the right answers, unless told otherwise. */
const LOST_SHARE = 0.05;
/** Fewer answers of a kind say nothing about how probable that kind is. */
const MIN_OF_EACH_KIND = 10;
const FOLDS = 10;

/**
 * Fits a logistic model of the probability that an answer is right. With the signals z in standard
 * deviations from their means, at most 3, and their squares, it minimises
 *
 *     - sum_i log P(correct_i | z_i, z_i^2) + sum_j (w_j^2 + c_j^2) / 2
 *
 * over the weights w, the curvatures c and an intercept, by Newton's method. A deviation below 0.01
 * counts as 0.01, so that rounding is no signal. Equal outcomes give equal weights. Fit on
 * questions whose documents the model was not trained on: on others its answers are better. Add
 * questions that the documents do not answer: without them the confidence is that of answerable
 * questions alone.
 *
 * @returns a calibration without a threshold
 * @throws {InputError} with less than 10 right or less than 10 wrong answers, or without a signal.
 *
 * Source: Platt 1999, "Probabilistic Outputs for Support Vector Machines and Comparisons to
 * Regularized Likelihood Methods"; Jiang et al. 2021, section 4.2.
 *
 * @example
 * ```ts
 * import { type AnswerOutcome, fitCalibration } from "reatt/evaluation";
 *
 * // From replies: { signals: reply.signals, correct: whether reply.answer is right }
 * const outcomes = Array.from({ length: 100 }, (_, i): AnswerOutcome => {
 *   const likelihood = -(i % 50) / 25;
 *   const signals = { likelihood, margin: 0.5, attention: 0.3, length: 1, quoted: 1 };
 *   return { signals, correct: i % 5 < 2 === likelihood > -1 };
 * });
 * const { signals } = fitCalibration(outcomes);
 * console.log(signals.likelihood.weight.toFixed(2), signals.margin.weight);
 * ```
 */
export function fitCalibration(outcomes: readonly AnswerOutcome[]): AnswerCalibration {
  checkOutcomes(outcomes);
  return fit(outcomes, SIGNAL_NAMES);
}

/** A block that was shown, and whether it answers the question. */
export interface BlockOutcome {
  /** `signals` of the block in `reply.evidence`. */
  readonly signals: BlockSignals;
  /** Whether the block answers; false if the documents have no answer. */
  readonly correct: boolean;
}

/**
 * Fits a logistic model of the probability that a block answers, as `fitCalibration` does that of
 * answers.
 *
 * @returns a calibration without a threshold
 * @throws {InputError} with less than 10 blocks that answer or less than 10 that do not.
 *
 * @example
 * ```ts
 * import { type BlockOutcome, fitBlockCalibration } from "reatt/evaluation";
 *
 * // From replies: the signals of each block of reply.evidence, and whether the block answers
 * const outcomes = Array.from({ length: 100 }, (_, i): BlockOutcome => {
 *   const attention = -(i % 50) / 10;
 *   const signals = { attention, lead: 0, words: 3, unmatched: 0.2, missing: 0, emptiness: -4 };
 *   return { signals, correct: i % 5 < 2 === attention > -3 };
 * });
 * console.log(fitBlockCalibration(outcomes).signals.attention.weight > 0); // true
 * ```
 */
export function fitBlockCalibration(outcomes: readonly BlockOutcome[]): BlockCalibration {
  checkEachKind(outcomes);
  return fit(outcomes, BLOCK_SIGNAL_NAMES);
}

/** As `crossValidatedConfidence`, of blocks. */
export function crossValidatedBlocks(
  outcomes: readonly BlockOutcome[],
  groups: readonly string[],
): number[] {
  checkEachKind(outcomes);
  return crossValidated(outcomes, groups, BLOCK_SIGNAL_NAMES);
}

/**
 * Confidence by cross-validation in ten folds: for each outcome, that of a calibration fitted
 * without its fold. It is an honest estimate of what `fitCalibration` of all outcomes gives for new
 * questions.
 *
 * @param groups a name for each outcome, such as the passage that the question was asked about.
 * Outcomes of one group are in one fold
 * @throws {InputError} with less than 10 right or less than 10 wrong answers.
 *
 * @example
 * ```ts
 * import { type AnswerOutcome, crossValidatedConfidence } from "reatt/evaluation";
 *
 * const outcomes = Array.from({ length: 100 }, (_, i): AnswerOutcome => {
 *   const likelihood = -(i % 50) / 25;
 *   const signals = { likelihood, margin: 0.5, attention: 0.3, length: 1, quoted: 1 };
 *   return { signals, correct: i % 3 === 0 };
 * });
 * const groups = outcomes.map((_, i) => `passage ${i % 40}`);
 * console.log(crossValidatedConfidence(outcomes, groups).length); // 100
 * ```
 */
export function crossValidatedConfidence(
  outcomes: readonly AnswerOutcome[],
  groups: readonly string[],
): number[] {
  checkOutcomes(outcomes);
  checkTexts(groups, "groups", outcomes.length);
  return crossValidated(outcomes, groups, SIGNAL_NAMES);
}

/** What a calibration is fitted on. */
interface Outcome<Name extends string> {
  readonly signals: Readonly<Partial<Record<Name, number | undefined>>>;
  readonly correct: boolean;
}

function crossValidated<Name extends string>(
  outcomes: readonly Outcome<Name>[],
  groups: readonly string[],
  signalNames: readonly Name[],
): number[] {
  const names = createRandom("calibration folds").shuffle([...new Set(groups)].sort());
  const foldOfGroup = new Map(names.map((name, i) => [name, i % FOLDS]));
  const folds = groups.map((name) => foldOfGroup.get(name)!);
  const calibrations = Array.from({ length: FOLDS }, (_, fold) =>
    folds.includes(fold)
      ? fit(
          outcomes.filter((_, i) => folds[i] !== fold),
          signalNames,
        )
      : undefined,
  );
  return outcomes.map(({ signals }, i) =>
    probabilityOf(calibrations[folds[i]!]!, signalNames, signals),
  );
}

function fit<Name extends string>(
  outcomes: readonly Outcome<Name>[],
  names: readonly Name[],
): SignalCalibration<Name> {
  const scales = names.map((name) => scaleOf(name, outcomes));
  const rows = outcomes.map(({ signals }) => {
    const z = names.map((name, j) => standardised(signals[name], scales[j]!));
    return [1, ...z, ...z.map((value) => value ** 2)];
  });
  const labels = outcomes.map(({ correct }) => correct);
  const penalties = rows[0]!.map((_, column) => (column === 0 ? 0 : PENALTY));
  const [intercept, ...terms] = fitLogistic(rows, labels, penalties);
  const count = names.length;
  const signals = Object.fromEntries(
    names.map((name, j) => [
      name,
      { weight: terms[j]!, curvature: terms[count + j]!, ...scales[j]! },
    ]),
  ) as Record<Name, CalibratedSignal>;
  return { intercept: intercept!, signals };
}

/** The mean of a signal and its deviation; 0 and 1 if no answer has it. */
function scaleOf<Name extends string>(
  name: Name,
  outcomes: readonly Outcome<Name>[],
): Pick<CalibratedSignal, "mean" | "deviation"> {
  const values = outcomes.flatMap(({ signals }) => signals[name] ?? []);
  if (values.length === 0) return { mean: 0, deviation: 1 };
  const centre = mean(values);
  const deviation = Math.sqrt(mean(values.map((value) => (value - centre) ** 2)));
  return { mean: centre, deviation: Math.max(MIN_DEVIATION, deviation) };
}

/**
 * The highest threshold that loses at most a share of the right answers: below it are no more than
 * `share` of them.
 *
 * @param answers confidences that were not fitted on the same answers
 * @example
 * ```ts
 * import { thresholdFor } from "reatt/evaluation";
 *
 * const answers = [0.1, 0.4, 0.8].map((confidence) => ({ confidence, correct: confidence > 0.2 }));
 * console.log(thresholdFor(answers)); // 0.4
 * ```
 */
export function thresholdFor(answers: readonly RatedAnswer[], share: number = LOST_SHARE): number {
  const right = answers.filter(({ correct }) => correct).map(({ confidence }) => confidence);
  right.sort((a, b) => a - b);
  return right[Math.floor(share * right.length)] ?? 0;
}

const outcomeList = z.array(
  z.object({ signals: AnswerSignalsFile, correct: flag() }, "{ signals, correct }"),
  "a list of { signals, correct }",
);

/** @throws {InputError} unless there are enough right and wrong answers */
function checkOutcomes(outcomes: readonly AnswerOutcome[]): void {
  checkData(outcomeList, outcomes, { where: "outcomes", remedy: "take them from replies" });
  checkEachKind(outcomes);
}

/** Whether a calibration can be fitted on them. */
export function hasEachKind(outcomes: readonly { readonly correct: boolean }[]): boolean {
  const right = outcomes.filter(({ correct }) => correct).length;
  return Math.min(right, outcomes.length - right) >= MIN_OF_EACH_KIND;
}

function checkEachKind(outcomes: readonly { readonly correct: boolean }[]): void {
  if (hasEachKind(outcomes)) return;
  const right = outcomes.filter(({ correct }) => correct).length;
  const wrong = outcomes.length - right;
  throw new InputError({
    where: "answers to fit a calibration on",
    expected: `at least ${MIN_OF_EACH_KIND} right and ${MIN_OF_EACH_KIND} wrong ones`,
    got: `${right} right, ${wrong} wrong`,
    remedy:
      right === 0 && wrong >= MIN_OF_EACH_KIND
        ? "check that the index has the documents of these questions"
        : "give more questions: several hundred make a good calibration",
  });
}
