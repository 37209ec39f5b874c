/**
 * A run that has to end at a given time. The number of its steps follows from how long a step and a
 * measurement of retrieval take on this machine now. It is computed after a few steps, and again
 * after each measurement. The changes are recorded (schedule.ts), so a resumed run repeats them.
 */

import type { ScheduleChange } from "./schedule.ts";

export interface TimeBudget {
  /** Seconds until everything has to be done, the index of the corpus included. */
  secondsLeft(): number;
  /** The tokens that are indexed after the training, in units of those of a measurement. */
  readonly indexedAfter: number;
}

/** What a measurement of retrieval takes, in seconds. */
export interface MeasurementSeconds {
  /** The whole measurement. */
  readonly measurement: number;
  /** Its index. */
  readonly index: number;
}

/** The first steps of a process are slower: they compile the graphs of training. */
export const WARM_UP_STEPS = 2;
/** Steps after which the number of steps is computed for the first time. */
export const CALIBRATION_STEPS = 6;
/** Share of the time that measurements may take, and their largest number. */
const MONITOR_SHARE = 0.2;
const MAX_MEASUREMENTS = 8;
/** The last part of the time stays free: other programs can slow the machine down. */
const RESERVE = 0.03;

/** Seconds that training and its measurements have left, without the index that follows. */
export const trainingSeconds = (
  { secondsLeft, indexedAfter }: TimeBudget,
  { index }: MeasurementSeconds,
): number => (1 - RESERVE) * secondsLeft() - indexedAfter * index;

/**
 * The schedule that fits the time. The run measures once more at its end.
 *
 * @param step steps done
 */
export function scheduleFor(
  budget: TimeBudget,
  { measurement, index, step: stepSeconds }: MeasurementSeconds & { readonly step: number },
  step: number,
): ScheduleChange {
  const seconds = Math.max(0, trainingSeconds(budget, { measurement, index }));
  const affordable = Math.floor((MONITOR_SHARE * seconds) / measurement);
  const measurements = Math.max(1, Math.min(MAX_MEASUREMENTS, affordable));
  const left = seconds - measurements * measurement;
  const steps = Math.max(0, Math.floor(left / stepSeconds));
  return { step, last: step + steps, monitorSteps: Math.max(1, Math.ceil(steps / measurements)) };
}
