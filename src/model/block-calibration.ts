/** The calibration of blocks that a model can store: the probability that a block answers. */

import { z } from "zod";
import { calibrationFile, probabilityOf, type SignalCalibration } from "./signal-calibration.ts";

/** What the probability of a block is computed from. */
export interface BlockSignals {
  /** Natural logarithm of the target attention on its tokens, at least that of 1e-5. */
  readonly attention: number;
  /** `attention` minus that of the best other block. */
  readonly lead: number;
  /** Natural logarithm of 1 + the number of its words. */
  readonly words: number;
  /**
   * The share of the terms that the question is about which stand neither in it nor in its title.
   */
  readonly unmatched: number;
  /** How many numbers, codes and names of the question its passage does not have, at most 2. */
  readonly missing: number;
  /**
   * How many of these no passage has that the search may return, at most 2; undefined without a
   * search by words.
   */
  readonly unknown?: number | undefined;
  /** As of the answer: the log odds that there is none. */
  readonly emptiness: number;
  /** The highest retrieval score of the passages that were read. */
  readonly similarity?: number | undefined;
  /** `similarity` minus the next retrieval score. */
  readonly similarityLead?: number | undefined;
}

export const BLOCK_SIGNAL_NAMES = [
  "attention",
  "lead",
  "words",
  "unmatched",
  "missing",
  "unknown",
  "emptiness",
  "similarity",
  "similarityLead",
] as const satisfies readonly (keyof BlockSignals)[];

/**
 * The probability that a block answers the question. No block is shown below the threshold, unless
 * `minimumConfidence` is given.
 */
export type BlockCalibration = SignalCalibration<keyof BlockSignals>;

const value = z.number("a number");

/** A number for each signal, in a file. */
export const BlockSignalsFile = z.strictObject({
  attention: value,
  lead: value,
  words: value,
  unmatched: value,
  missing: value,
  unknown: value.optional(),
  emptiness: value,
  similarity: value.optional(),
  similarityLead: value.optional(),
});

/** `blockCalibration` of `config.json`; of a T5, `block_calibration`. */
export const BlockCalibrationFile = calibrationFile(BLOCK_SIGNAL_NAMES);

export const blockProbability = (calibration: BlockCalibration, signals: BlockSignals): number =>
  probabilityOf(calibration, BLOCK_SIGNAL_NAMES, signals);
