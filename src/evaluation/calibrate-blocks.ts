/** Fits the calibration of blocks on what was shown for many questions. */

import type { BlockCalibration } from "../model/block-calibration.ts";
import {
  type BlockOutcome,
  crossValidatedBlocks,
  fitBlockCalibration,
  hasEachKind,
  thresholdFor,
} from "./calibration.ts";
import type { RatedAnswer } from "./calibration-report.ts";

/** The blocks of a question. */
export interface ShownBlocks {
  /** Questions of one group are in one fold. */
  readonly group: string;
  readonly blocks: readonly BlockOutcome[];
}

export interface CalibratedBlocks {
  readonly calibration: BlockCalibration;
  /** The most probable block of each question, by cross-validation; undefined without blocks. */
  readonly first: readonly (RatedAnswer | undefined)[];
}

/**
 * The threshold loses at most 5 % of the first blocks that answer, down to whole percents.
 *
 * @returns undefined if there are less than 10 blocks that answer, or less than 10 that do not
 */
export function calibrateBlocks(questions: readonly ShownBlocks[]): CalibratedBlocks | undefined {
  const outcomes = questions.flatMap(({ blocks }) => blocks);
  if (!hasEachKind(outcomes)) return undefined;
  const groups = questions.flatMap(({ group, blocks }) => blocks.map(() => group));
  const scores = crossValidatedBlocks(outcomes, groups);
  let at = 0;
  const first = questions.map(({ blocks }) => {
    const own = blocks.map(({ correct }) => ({ confidence: scores[at++]!, correct }));
    return own.toSorted((a, b) => b.confidence - a.confidence)[0];
  });
  const threshold = thresholdFor(first.flatMap((block) => block ?? []));
  return {
    calibration: {
      ...fitBlockCalibration(outcomes),
      threshold: Math.floor(100 * threshold) / 100,
    },
    first,
  };
}
