/** Fits the calibrations of a model anew, where questions show that this is better. */

import { mean } from "../math/mean.ts";
import { type AnswerCalibration, SIGNAL_NAMES } from "../model/answer-calibration.ts";
import { type BlockCalibration, blockProbability } from "../model/block-calibration.ts";
import { probabilityOf } from "../model/signal-calibration.ts";
import { calibrateBlocks, type ShownBlocks } from "./calibrate-blocks.ts";
import {
  type AnswerOutcome,
  crossValidatedBlocks,
  crossValidatedConfidence,
  fitCalibration,
  hasEachKind,
  thresholdFor,
} from "./calibration.ts";

/** What a model answered to a question, and the blocks that it would show. */
export interface AskedQuestion extends ShownBlocks {
  /** Undefined if the model wrote nothing. */
  readonly answer: AnswerOutcome | undefined;
}

export interface Calibrations {
  readonly calibration?: AnswerCalibration | undefined;
  readonly blockCalibration?: BlockCalibration | undefined;
}

/**
 * Fits those calibrations anew that a model has. A new one is returned if its log loss
 *
 *     - mean_i log P(correct_i)
 *
 * by cross-validation is lower than that of the one that the model has: of few questions it is not.
 * It has a threshold if the one before has, which then loses at most 5 % of the right answers.
 *
 * @param given the calibrations of the model, which were not fitted to these questions
 */
export function recalibrate(asked: readonly AskedQuestion[], given: Calibrations): Calibrations {
  const calibration = given.calibration && betterForAnswers(asked, given.calibration);
  const blockCalibration = given.blockCalibration && betterForBlocks(asked, given.blockCalibration);
  return { ...(calibration && { calibration }), ...(blockCalibration && { blockCalibration }) };
}

function betterForAnswers(
  asked: readonly AskedQuestion[],
  given: AnswerCalibration,
): AnswerCalibration | undefined {
  const answered = asked.flatMap(({ group, answer }) => (answer ? [{ group, ...answer }] : []));
  if (!hasEachKind(answered)) return undefined;
  const groups = answered.map(({ group }) => group);
  const outcomes = answered.map(({ signals, correct }) => ({ signals, correct }));
  const confidences = crossValidatedConfidence(outcomes, groups);
  const before = outcomes.map(({ signals }) => probabilityOf(given, SIGNAL_NAMES, signals));
  if (logLoss(confidences, outcomes) >= logLoss(before, outcomes)) return undefined;
  const fitted = fitCalibration(outcomes);
  if (given.threshold === undefined) return fitted;
  const rated = outcomes.map(({ correct }, i) => ({ confidence: confidences[i]!, correct }));
  return { ...fitted, threshold: Math.floor(100 * thresholdFor(rated)) / 100 };
}

function betterForBlocks(
  asked: readonly AskedQuestion[],
  given: BlockCalibration,
): BlockCalibration | undefined {
  const outcomes = asked.flatMap(({ blocks }) => blocks);
  if (!hasEachKind(outcomes)) return undefined;
  const groups = asked.flatMap(({ group, blocks }) => blocks.map(() => group));
  const before = outcomes.map(({ signals }) => blockProbability(given, signals));
  const after = crossValidatedBlocks(outcomes, groups);
  if (logLoss(after, outcomes) >= logLoss(before, outcomes)) return undefined;
  const { threshold, ...fitted } = calibrateBlocks(asked)!.calibration;
  return given.threshold === undefined ? fitted : { ...fitted, threshold };
}

/** A wrong certainty costs no more than this probability. */
const LEAST = 1e-6;

const logLoss = (
  probabilities: readonly number[],
  outcomes: readonly { readonly correct: boolean }[],
): number =>
  -mean(
    outcomes.map(({ correct }, i) =>
      Math.log(Math.max(LEAST, correct ? probabilities[i]! : 1 - probabilities[i]!)),
    ),
  );
