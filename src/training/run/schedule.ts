/**
 * The learning rate: linear warm-up, linear decay to 0 (ReAtt, section 5). A run with a time limit
 * moves its end.
 */

/** One rise and fall of the learning rate. */
export interface LearningRateCycle {
  /** Steps of the run before the cycle. */
  readonly first: number;
  readonly steps: number;
  readonly peak: number;
  /** Share of the steps in which the rate rises. */
  readonly warmUp: number;
}

/** A change of the schedule, which holds from the step after `step` on. */
export interface ScheduleChange {
  /** Steps done. */
  readonly step: number;
  /** The last step of the run from now on. */
  readonly last: number;
  /** Steps between two measurements, counted from `step`. Default: as before. */
  readonly monitorSteps?: number | undefined;
}

export interface ScheduledRun {
  readonly run: {
    readonly schedule: { readonly iterations: number; readonly steps: number };
  };
  /** Changes of the schedule so far, in the order of steps. */
  readonly changes: readonly ScheduleChange[];
}

/** The last step of the run, counted over all iterations. */
export const lastStep = ({ run, changes }: ScheduledRun): number => {
  const { iterations, steps } = run.schedule;
  return changes.at(-1)?.last ?? iterations * steps;
};

/**
 * The learning rate of step `step` of the run, counted from 1. With w warm-up steps and n steps,
 *
 *     rate(i) = peak min(i / w, (n - i + 1) / (n - w + 1))
 *
 * for step i of the cycle. A new end continues the decay from its present value to 0 there.
 */
export function learningRateAt(
  step: number,
  { first, steps, peak, warmUp: share }: LearningRateCycle,
  changes: readonly ScheduleChange[] = [],
): number {
  const warmUp = Math.max(1, Math.round(share * steps));
  let line: DecayLine = { from: first + warmUp, level: 1, last: first + steps };
  for (const { step: at, last } of changes)
    if (at < step && at >= first) line = { from: at, level: Math.min(1, decayAt(at, line)), last };
  return peak * Math.min((step - first) / warmUp, decayAt(step, line));
}

/** A straight line from `level` at step `from` to 0 after step `last`. */
interface DecayLine {
  readonly from: number;
  readonly level: number;
  readonly last: number;
}

const decayAt = (step: number, { from, level, last }: DecayLine): number =>
  (level * (last - step + 1)) / (last - from + 1);
