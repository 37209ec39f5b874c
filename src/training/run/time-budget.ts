/**
 * A run that has to end at a given time. The number of its steps follows from how long a step and a
 * measurement of retrieval take on this machine now. It is computed after a few steps, again after
 * each measurement, and when the machine becomes slower. The changes are recorded (schedule.ts), so
 * a resumed run repeats them.
 */

import { mean } from "../../math/mean.ts";
import { lastStep, type ScheduleChange, type ScheduledRun } from "./schedule.ts";

export interface TimeBudget {
  /** Seconds until everything has to be done, the index of the corpus included. */
  secondsLeft(): number;
  /** What a measurement takes by the plan, until one is done. */
  readonly planned: MeasurementSeconds;
  /** The tokens that are indexed after the training, in units of those of a measurement. */
  readonly indexedAfter: number;
  /** Seconds to compress that index. Those of measurements are not compressed. */
  readonly compressionAfter: number;
  /** Seconds to ask held-out questions before that, and to calibrate the model by them. */
  readonly calibrationAfter: number;
}

/** What a measurement of retrieval takes, in seconds. */
export interface MeasurementSeconds {
  /** The whole measurement. */
  readonly measurement: number;
  /** Its index. */
  readonly index: number;
}

/** The first steps of a process are slower: they compile the graphs of training. */
const WARM_UP_STEPS = 2;
/** Steps after which the number of steps is computed for the first time. */
const CALIBRATION_STEPS = 6;
/** The mean duration of a step is that of the last ones: examples differ in length. */
const TIMED_STEPS = 24;
/** Share of the time that measurements may take, and their largest number. */
const MONITOR_SHARE = 0.2;
const MAX_MEASUREMENTS = 8;
/** The steps that are left would take this many times the time that is left: the run is late. */
const LATE = 1.25;
/** The last part of the time stays free: other programs can slow the machine down. */
const RESERVE = 0.03;

/** Seconds that training and its measurements have left, without the index that follows. */
const trainingSeconds = (
  { secondsLeft, indexedAfter, compressionAfter, calibrationAfter }: TimeBudget,
  { index }: MeasurementSeconds,
): number =>
  (1 - RESERVE) * secondsLeft() - indexedAfter * index - compressionAfter - calibrationAfter;

/** The part of a run's state that says how long a measurement takes. */
type MeasuredState = Pick<TimedState, "budget" | "durations">;

/** Seconds that are left for steps and further measurements, beside one. */
function spareSeconds({ budget, durations }: MeasuredState): number {
  if (!budget) return Infinity;
  const expected = durations ?? budget.planned;
  return trainingSeconds(budget, expected) - expected.measurement;
}

/** Whether the time that is left has room for a measurement. */
export const canMeasure = (state: MeasuredState): boolean => spareSeconds(state) >= 0;

/**
 * The schedule that fits the time. The last of its measurements is at its end.
 *
 * @param step steps done
 * @param most measurements
 */
function scheduleFor(
  budget: TimeBudget,
  { measurement, index, step: stepSeconds }: MeasurementSeconds & { readonly step: number },
  step: number,
  most: number,
): ScheduleChange {
  const seconds = Math.max(0, trainingSeconds(budget, { measurement, index }));
  const affordable = measurement > 0 ? Math.floor((MONITOR_SHARE * seconds) / measurement) : most;
  const measurements = Math.max(1, Math.min(most, affordable));
  const left = seconds - measurements * measurement;
  const steps = Math.max(0, Math.floor(left / stepSeconds));
  return { step, last: step + steps, monitorSteps: Math.max(1, Math.ceil(steps / measurements)) };
}

/** The part of a run's state that its time depends on. */
interface TimedState extends ScheduledRun {
  readonly budget: TimeBudget | undefined;
  readonly step: number;
  readonly resumedAt: number;
  readonly changes: ScheduleChange[];
  readonly stepSeconds: number[];
  readonly durations: MeasurementSeconds | undefined;
}

/** Adds the duration of a step. */
export function timeStep({ stepSeconds }: TimedState, seconds: number): void {
  stepSeconds.push(seconds);
  if (stepSeconds.length > TIMED_STEPS) stepSeconds.shift();
}

/** After each step: moves the last step to where the time ends, if that is due. */
export function fitToTime(state: TimedState, isMeasured: boolean): void {
  const { budget, changes, step, stepSeconds, resumedAt } = state;
  if (!budget || step === changes.at(-1)?.last) return;
  const durations = state.durations ?? budget.planned;
  const left = spareSeconds(state);
  if (left < 0) {
    changes.push({ step, last: step });
    return;
  }
  if (stepSeconds.length === 0) return;
  const usual = mean(stepSeconds.slice(stepSeconds.length > WARM_UP_STEPS ? WARM_UP_STEPS : 0));
  const isLate = (lastStep(state) - step) * usual > LATE * left;
  if (!isMeasured && !isLate && step !== resumedAt + CALIBRATION_STEPS) return;
  const most = measurementsLeft(changes) - Number(isMeasured);
  changes.push(scheduleFor(budget, { ...durations, step: usual }, step, most));
}

/** Those of the last schedule: each one leads to a new schedule. */
function measurementsLeft(changes: readonly ScheduleChange[]): number {
  const change = changes.findLast(({ monitorSteps }) => monitorSteps);
  if (!change) return MAX_MEASUREMENTS;
  return Math.round((change.last - change.step) / change.monitorSteps!);
}
