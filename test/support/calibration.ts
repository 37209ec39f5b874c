/** Calibrations for tests. */

import {
  type AnswerCalibration,
  SIGNAL_NAMES,
  type SignalName,
} from "../../src/model/answer-calibration.ts";

/** A calibration of signals as they are: mean 0 and deviation 1. Default of a weight: 0. */
export const calibrationOf = (
  intercept: number,
  weights: Partial<Record<SignalName, number>>,
  threshold?: number,
): AnswerCalibration => ({
  intercept,
  signals: Object.fromEntries(
    SIGNAL_NAMES.map((name) => [
      name,
      { weight: weights[name] ?? 0, curvature: 0, mean: 0, deviation: 1 },
    ]),
  ) as unknown as AnswerCalibration["signals"],
  ...(threshold !== undefined && { threshold }),
});
