/**
 * Logistic models of a probability from named signals, as a model stores them.
 *
 * Source: Platt 1999, "Probabilistic Outputs for Support Vector Machines".
 */

import { z } from "zod";
import { number } from "../options/option.ts";

/** How a signal counts. */
export interface CalibratedSignal {
  /** The change of the log odds for one standard deviation of the signal. */
  readonly weight: number;
  /** What is added for its square: below 0, a high signal says less than a low one. */
  readonly curvature: number;
  /** Of the cases that the calibration was fitted on. */
  readonly mean: number;
  /** The standard deviation of the signal where the calibration was fitted. */
  readonly deviation: number;
}

/**
 * A logistic model. With the signals x, in standard deviations and at most 3 of them from the mean:
 *
 *     z_j = min(3, max(-3, (x_j - mean_j) / deviation_j))
 *     P = 1 / (1 + exp(-(intercept + sum_j weight_j * z_j + curvature_j * z_j^2)))
 *
 * A signal that is missing counts as its mean.
 */
export interface SignalCalibration<Name extends string> {
  /** The log-odds of a case whose signals are all at their means. */
  readonly intercept: number;
  /** What each signal adds. */
  readonly signals: Readonly<Record<Name, CalibratedSignal>>;
  /** The least probability that counts. From 0 to 1. */
  readonly threshold?: number | undefined;
}

/** Signals beyond it say no more: they are outside of what the calibration was fitted on. */
const MAX_DEVIATIONS = 3;

const value = z.number("a number");
const term = z.strictObject(
  { weight: value, curvature: value, mean: value, deviation: number({ above: 0 }) },
  "{ weight, curvature, mean, deviation }",
);

/** A calibration in a file. */
export const calibrationFile = <Name extends string>(names: readonly Name[]) =>
  z.strictObject(
    {
      intercept: value,
      signals: z.strictObject(
        Object.fromEntries(names.map((name) => [name, term])) as Record<Name, typeof term>,
        `{ ${names.join(", ")} }: fit the calibration again, with reatt evaluate calibrate`,
      ),
      threshold: number({ from: 0, to: 1 }).optional(),
    },
    "{ intercept, signals }",
  );

/** A signal in standard deviations from the mean, at most 3; 0 for one that is missing. */
export function standardised(
  signal: number | undefined,
  { mean, deviation }: Pick<CalibratedSignal, "mean" | "deviation">,
): number {
  if (signal === undefined) return 0;
  return Math.min(MAX_DEVIATIONS, Math.max(-MAX_DEVIATIONS, (signal - mean) / deviation));
}

export function probabilityOf<Name extends string>(
  { intercept, signals }: SignalCalibration<Name>,
  names: readonly Name[],
  given: Readonly<Partial<Record<Name, number | undefined>>>,
): number {
  return logistic(
    names.reduce((sum, name) => {
      const counts = signals[name];
      const z = standardised(given[name], counts);
      return sum + counts.weight * z + counts.curvature * z ** 2;
    }, intercept),
  );
}

/** 1 / (1 + exp(-x)) */
export const logistic = (x: number): number => 1 / (1 + Math.exp(-x));
